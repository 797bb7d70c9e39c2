#include "hooks/console/console_line.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

ConsoleLine line() {
  ConsoleLine line;
  line.add("step 7", 9);
  line.add("epoch 1", 3);
  line.add("loss 0.5", 8);
  line.add("rows 12", 3);
  return line;
}

TEST(ConsoleLineTest, AllItemsWhereTheyFit) {
  EXPECT_EQ(line().text(), "step 7  epoch 1  loss 0.5  rows 12");
  EXPECT_EQ(line().text(34), line().text());
  EXPECT_EQ(ConsoleLine().text(), "");
  EXPECT_TRUE(ConsoleLine().empty());
}

TEST(ConsoleLineTest, LeastImportantItemsAreOmittedWhole) {
  EXPECT_EQ(line().text(33), "step 7  epoch 1  loss 0.5") << "of two equals the last";
  EXPECT_EQ(line().text(25), "step 7  epoch 1  loss 0.5");
  EXPECT_EQ(line().text(24), "step 7  loss 0.5");
  EXPECT_EQ(line().text(15), "step 7");
}

TEST(ConsoleLineTest, TheLastItemIsCut) {
  EXPECT_EQ(line().text(4), "step");
  EXPECT_EQ(line().text(0), "");
  EXPECT_EQ(line().text(-1), "");
}

TEST(ConsoleLineTest, CharactersAreCounted) {
  ConsoleLine line;
  line.add("größe 1", 1);
  line.add("änderung 2", 0);
  EXPECT_EQ(line.text(19), "größe 1  änderung 2");
  EXPECT_EQ(line.text(18), "größe 1");
  EXPECT_EQ(line.text(3), "grö");
}

TEST(ConsoleLineTest, ItemsOfAnotherLineFollow) {
  ConsoleLine both = line();
  both.add(line());
  EXPECT_EQ(both.text(), line().text() + "  " + line().text());
}

}  // namespace
}  // namespace millrace
