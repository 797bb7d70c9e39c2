#include "io/window/window_cutter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

std::vector<WindowEntry> entries(const std::vector<std::string>& names) {
  std::vector<WindowEntry> result;
  for (const std::string& name : names) result.push_back({name, {name}});
  return result;
}

// "a..c: a b c [10, 30) rest 1 at 5"
std::string text(const WindowPosition& position) {
  std::vector<std::string> files;
  for (const auto& file : position.file()) files.push_back(file.name());
  std::string text = absl::StrCat(position.name(), ": ", absl::StrJoin(files, " "));
  if (position.end_row() > 0) {
    absl::StrAppend(&text, " [", position.begin_row(), ", ", position.end_row(), ")");
  }
  if (position.rest_files() > 0) {
    absl::StrAppend(&text, " rest ", position.rest_files(), " at ", position.rest_row());
  }
  return text;
}

class WindowCutterTest : public testing::Test {
 protected:
  WindowCutter cutter(int64_t files, int64_t rows = 0) {
    WindowsConfig windows;
    windows.set_files(files);
    windows.set_rows(rows);
    return WindowCutter(windows, [this](const std::string& name) -> absl::StatusOr<int64_t> {
      ++counted_[name];
      if (rows_.count(name) == 0) return absl::NotFoundError(name);
      return rows_[name];
    });
  }
  // All windows of these files when no more come.
  std::vector<std::string> cut_all(WindowCutter cutter, std::vector<WindowEntry> left) {
    std::vector<std::string> windows;
    WindowPosition position;
    while (true) {
      const auto used = cutter.cut(left, /*no_more=*/true, position);
      EXPECT_OK(used.status());
      if (!used.ok() || *used < 0) return windows;
      left.erase(left.begin(), left.begin() + *used);
      windows.push_back(text(position));
    }
  }

  std::map<std::string, int64_t> rows_{{"a", 10}, {"b", 3}, {"c", 0}, {"d", 25}, {"e", 2}};
  std::map<std::string, int> counted_;
};

TEST_F(WindowCutterTest, SoManyFiles) {
  WindowCutter two = cutter(2);
  WindowPosition position;
  EXPECT_THAT(two.cut(entries({"a"}), false, position), IsOkAndHolds(-1));
  EXPECT_EQ(two.progress(), "1 of 2 is there");
  EXPECT_FALSE(position.has_name());
  EXPECT_THAT(two.cut(entries({"a", "b", "c"}), false, position), IsOkAndHolds(2));
  EXPECT_EQ(text(position), "a..b: a b");
  EXPECT_THAT(two.cut(entries({"c"}), true, position), IsOkAndHolds(1));
  EXPECT_EQ(text(position), "c: c");
  EXPECT_THAT(two.cut({}, true, position), IsOkAndHolds(-1));
  EXPECT_TRUE(counted_.empty());
}

TEST_F(WindowCutterTest, ADirectoryCountsAsOne) {
  WindowPosition position;
  EXPECT_THAT(cutter(1).cut({{"d", {"d/1", "d/2"}}, {"e", {"e"}}}, false, position),
              IsOkAndHolds(1));
  EXPECT_EQ(text(position), "d: d/1 d/2");
}

TEST_F(WindowCutterTest, SoManyRows) {
  EXPECT_THAT(cut_all(cutter(1, 10), entries({"a", "b", "c", "d", "e"})),
              ElementsAre("a: a [0, 10)", "b..d: b c d [0, 10) rest 1 at 7",
                          "d: d [7, 17) rest 1 at 17", "d..e: d e [17, 27)"));
  EXPECT_THAT(cut_all(cutter(1, 4), entries({"a"})),
              ElementsAre("a: a [0, 4) rest 1 at 4", "a: a [4, 8) rest 1 at 8", "a: a [8, 10)"));
  EXPECT_THAT(cut_all(cutter(1, 100), entries({"a", "b"})), ElementsAre("a..b: a b [0, 13)"));
  for (const auto& [name, count] : counted_) EXPECT_LE(count, 3) << name << ", once in each case";
}

TEST_F(WindowCutterTest, RowsOfADirectory) {
  rows_["x/1"] = 4;
  rows_["x/2"] = 4;
  rows_["x/3"] = 4;
  EXPECT_THAT(
      cut_all(cutter(1, 3), {{"x", {"x/1", "x/2", "x/3"}}}),
      ElementsAre("x: x/1 x/2 x/3 [0, 3) rest 3 at 3", "x/1..x/3: x/1 x/2 x/3 [3, 6) rest 2 at 2",
                  "x/2..x/3: x/2 x/3 [2, 5) rest 1 at 1", "x/3: x/3 [1, 4)"));
}

TEST_F(WindowCutterTest, WaitsForRows) {
  WindowCutter ten = cutter(1, 10);
  WindowPosition position;
  EXPECT_THAT(ten.cut(entries({"b", "e"}), false, position), IsOkAndHolds(-1));
  EXPECT_EQ(ten.progress(), "5 of 10 rows are there");
  EXPECT_THAT(ten.cut(entries({"b", "e", "d"}), false, position), IsOkAndHolds(3));
  EXPECT_EQ(text(position), "b..d: b e d [0, 10) rest 1 at 5");
  EXPECT_EQ(counted_["b"], 1);
}

TEST_F(WindowCutterTest, FilesWithoutRowsAreAWindowAtTheEnd) {
  EXPECT_THAT(cut_all(cutter(1, 10), entries({"c"})), ElementsAre("c: c"));
}

TEST_F(WindowCutterTest, WhatCannotBeCountedIsAnError) {
  WindowPosition position;
  EXPECT_THAT(cutter(1, 5).cut(entries({"gone"}), true, position),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace millrace
