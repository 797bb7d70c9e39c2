// Tests that each planted fault is found by its campaign, and that no campaign finds a fault
// without one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "tests/campaigns/campaigns.h"
#include "tests/campaigns/trace_probe.h"

namespace millrace {
namespace {

TEST(FaultsTest, EachIsCaught) {
  CampaignOptions options;
  // Hundreds of syncs are slow on a real disk.
  const bool in_memory = ::access("/dev/shm", W_OK) == 0;
  options.directory = join_path(in_memory ? "/dev/shm" : testing::TempDir(), "faults-XXXXXX");
  ASSERT_NE(::mkdtemp(options.directory.data()), nullptr);
  std::vector<std::string> lines;
  const CampaignResult result = run_faults(options, &lines);
  EXPECT_EQ(result.violations(), 0) << result.to_string();
  EXPECT_EQ(result.figure("planted"), planted_faults().size());
  EXPECT_EQ(result.figure("caught") + result.figure("not looked for"), result.figure("planted"));
  EXPECT_GT(result.figure("caught"), 15);
  remove_recursively(FileSystem::local(), options.directory).IgnoreError();
  const int64_t skipped = result.figure("not looked for");
  if (skipped == 0) return;
  const std::string cases =
      absl::StrCat(skipped, " of ", planted_faults().size(), " planted faults");
  GTEST_SKIP() << skip_traced(cases, "as their campaign was");
}

TEST(FaultsTest, EachIsListedOnce) {
  std::set<PlantedFault> seen = {PlantedFault::kNone};
  for (const PlantedFaultEntry& entry : planted_faults()) {
    EXPECT_TRUE(seen.insert(entry.fault).second) << entry.what;
    EXPECT_NE(find_campaign(entry.campaign), nullptr) << entry.what;
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(PlantedFault::kFullDiskLeavesFiles) + 1);
}

}  // namespace
}  // namespace millrace
