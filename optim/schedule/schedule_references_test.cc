// Compares rates with rates of other implementations: testdata/*.csv, written by
// make_references.py.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

constexpr double kRate = 0.1;        // as in make_references.py
constexpr double kTolerance = 1e-9;  // relative to kRate

struct Point {
  int64_t step;
  double rate;
};

struct References {
  std::string schedule;  // a ScheduleConfig
  std::vector<Point> points;
};

References read_references(const std::string& path) {
  References references;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line.substr(0, 2), "# ") << path;
  references.schedule = line.substr(2);
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    Point point;
    EXPECT_TRUE(cells.size() == 2 && absl::SimpleAtoi(cells[0], &point.step) &&
                absl::SimpleAtod(cells[1], &point.rate))
        << path << ": " << line;
    references.points.push_back(point);
  }
  return references;
}

std::vector<std::string> reference_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("optim/schedule/testdata")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The values that make_references.py passes to ReduceLROnPlateau.
double metric(int64_t step) {
  return 1 + static_cast<double>(step * 7919 % 101) / 100 +
         10.0 / static_cast<double>(1 + std::min<int64_t>(step, 4000) / 50);
}

class ScheduleReferencesTest : public testing::TestWithParam<std::string> {};

TEST_P(ScheduleReferencesTest, RatesAgree) {
  const References references = read_references("optim/schedule/testdata/" + GetParam() + ".csv");
  const auto schedule = make_schedule(references.schedule, kRate);
  const double sign = parse_schedule(references.schedule).reduce_on_plateau().mode() ==
                              ReduceOnPlateauScheduleConfig::MAX
                          ? -1
                          : 1;
  ASSERT_GE(references.points.size(), 400);
  ASSERT_EQ(references.points.back().step, 10000);
  int64_t step = 0;
  for (const Point& point : references.points) {
    while (step < point.step) schedule->observe(sign * metric(++step));
    EXPECT_NEAR(schedule->rate_at(static_cast<double>(step)), point.rate, kTolerance * kRate)
        << "at step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleReferencesTest, testing::ValuesIn(reference_files()),
                         [](const auto& info) { return info.param; });

TEST(ScheduleReferenceFilesTest, AreThere) { EXPECT_GE(reference_files().size(), 17); }

}  // namespace
}  // namespace millrace
