// The short version of //tests/campaigns:report_memory.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "tests/campaigns/report_memory_campaign.h"

namespace millrace {
namespace {

constexpr int64_t kReports = 10000;
constexpr int64_t kSampleEvery = 1000;
constexpr size_t kWarmUp = 5;  // samples
constexpr int64_t kMostGrowth = int64_t{3} << 20;
// The files are larger, so a receiver that reads a whole file fails the test.
constexpr int64_t kMostPeak = int64_t{6} << 20;

TEST(ReportMemoryTest, StaysFlat) {
  const std::string directory = testing::TempDir() + "/report_memory";
  ASSERT_OK(FileSystem::local().create_directories(directory));
  std::vector<int64_t> resident, peak;
  ASSERT_OK(
      run_report_memory({.reports = kReports, .sample_every = kSampleEvery, .directory = directory},
                        [&](const MemorySample& sample) {
                          resident.push_back(sample.resident_bytes);
                          peak.push_back(sample.peak_bytes);
                        }));
  ASSERT_EQ(resident.size(), kReports / kSampleEvery);
  const int64_t before = *std::max_element(resident.begin(), resident.begin() + kWarmUp);
  EXPECT_GT(before, 0);
  EXPECT_LT(resident.back() - before, kMostGrowth) << testing::PrintToString(resident);
  EXPECT_LT(peak.back() - before, kMostPeak) << testing::PrintToString(peak);
}

// All receivers have the last report.
TEST(ReportMemoryTest, EachReceiverHasAllReports) {
  const std::string directory = testing::TempDir() + "/report_receivers";
  ASSERT_OK(FileSystem::local().create_directories(directory));
  ASSERT_OK(run_report_memory({.reports = 20, .sample_every = 10, .directory = directory},
                              [](const MemorySample&) {}));
  const auto lines = [&](const std::string& file) -> int64_t {
    const auto text = read_file(FileSystem::local(), join_path(directory, file));
    EXPECT_OK(text);
    return text.ok() ? std::count(text->begin(), text->end(), '\n') : 0;
  };
  EXPECT_EQ(lines("out/metrics/train.jsonl"), 20);
  EXPECT_EQ(lines("out/metrics/train.csv"), 21);
  EXPECT_GE(lines("console.txt"), 20);
  const auto table = read_file(FileSystem::local(), join_path(directory, "out/metrics/train.csv"));
  ASSERT_OK(table.status());
  EXPECT_TRUE(absl::StrContains(table->substr(0, table->find('\n')), ",values/late"));
  EXPECT_GE(lines("out/events.jsonl"), 5) << "three epochs open and two close";
  ASSERT_OK_AND_ASSIGN(const auto events,
                       FileSystem::local().glob(join_path(directory, "out/tensorboard/*")));
  EXPECT_EQ(events.size(), 2) << "one for each run";
}

}  // namespace
}  // namespace millrace
