#include "hooks/console/console_text.h"

#include <gtest/gtest.h>

#include <memory>

#include "metrics/metric_registry.h"

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

TEST(MetricTextTest, OneOfTwoEqualTextsIsEnough) {
  EXPECT_TRUE(logloss_repeats_loss({{"logloss", 0.46834}, {"loss", 0.46831}}, 4));
  EXPECT_FALSE(logloss_repeats_loss({{"logloss", 0.46834}, {"loss", 0.46831}}, 5));
  EXPECT_FALSE(logloss_repeats_loss({{"logloss", 0.5}}, 4));
  EXPECT_FALSE(logloss_repeats_loss({{"loss", 0.5}}, 4));
}

TEST(MetricTextTest, NamesAndValues) {
  const std::map<std::string, double> same = {{"auc", 0.767}, {"logloss", 0.5}, {"loss", 0.5}};
  EXPECT_EQ(metrics_text("eval:", same, ""), "eval:  auc 0.76700  loss 0.50000");
  const std::map<std::string, double> other = {{"logloss", 0.50001}, {"loss", 0.5}};
  EXPECT_EQ(metrics_text("eval:", other, "examples 7"),
            "eval:  logloss 0.50001  loss 0.50000  examples 7");
}

MILLRACE_REGISTER_METRIC(test_latency, "a metric with a unit",
                         [](const CustomConfig&) -> absl::StatusOr<std::unique_ptr<Metric>> {
                           return absl::UnimplementedError("only its traits are used");
                         },
                         {.unit = "ms", .decimals = 1});

TEST(MetricTextTest, UnitAndDecimalsOfTheMetric) {
  EXPECT_EQ(metric_text("test_latency", 12.345, 4), "test_latency 12.3 ms");
  EXPECT_EQ(metric_text("c=7/click/test_latency", 12.345, 0), "c=7/click/test_latency 12 ms");
  EXPECT_EQ(metric_text("click/auc", 0.75, 4), "click/auc 0.7500");
  EXPECT_EQ(metric_text("c=7/examples", 1200, 4), "c=7/examples 1200");
}

TEST(MetricTextTest, ASliceHasALineOfItsOwn) {
  const std::map<std::string, double> metrics = {{"auc", 0.5},         {"c=7/auc", 0.25},
                                                 {"c=7/examples", 12}, {"c=other/click/auc", 0.75},
                                                 {"click/auc", 0.125}, {"loss", 1}};
  EXPECT_EQ(metrics_text("eval:", metrics, "examples 70"),
            "eval:  auc 0.50000  click/auc 0.12500  loss 1.00000  examples 70\n"
            "  c=7:  auc 0.25000  examples 12\n"
            "  c=other:  click/auc 0.75000");
}

TEST(MetricTextTest, ALineFitsItsColumns) {
  const std::map<std::string, double> metrics = {{"auc", 0.5}, {"loss", 0.5}, {"ne", 1}};
  EXPECT_EQ(metrics_text("eval:", metrics, "examples 7", 31),
            "eval:  auc 0.50000\n  loss 0.50000  ne 1.00000\n  examples 7");
  EXPECT_EQ(metrics_text("eval:", metrics, "examples 7", 1),
            "eval:\n  auc 0.50000\n  loss 0.50000\n  ne 1.00000\n  examples 7");
}

TEST(MetricTextTest, UnknownIds) {
  EXPECT_EQ(unknown_ids_text({}), "");
  EXPECT_EQ(unknown_ids_text({{"a", 0.004}}), "");
  EXPECT_EQ(unknown_ids_text({{"a", 0.0049}, {"b", 0.021}, {"c", 1}}),
            "no row: c 100.0 %, b 2.1 %");
}

}  // namespace
}  // namespace millrace
