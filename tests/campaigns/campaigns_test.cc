// Short versions of the campaigns, one test each, named after the campaign. docs/reliability.md has
// the long versions.
#include "tests/campaigns/campaigns.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "tests/campaigns/trace_probe.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

class CampaignsTest : public testing::Test {
 protected:
  CampaignsTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    // Campaigns other than kills need no real disk, whose syncs are slow.
    const bool on_disk = test->name() == std::string("Kills") || ::access("/dev/shm", W_OK) != 0;
    options_.directory = join_path(on_disk ? testing::TempDir() : "/dev/shm", "campaign-XXXXXX");
    EXPECT_NE(::mkdtemp(options_.directory.data()), nullptr);
  }
  ~CampaignsTest() override {
    remove_recursively(FileSystem::local(), options_.directory).IgnoreError();
  }

  // Returns the result, which has no violation.
  CampaignResult run(const char* name) {
    CampaignResult result = find_campaign(name)->run(options_);
    EXPECT_EQ(result.violations(), 0) << result.to_string();
    RecordProperty("result", result.to_string());
    return result;
  }

  CampaignOptions options_;
};

// The first test: other processes train, and must be forked before the test's process trains.
TEST_F(CampaignsTest, Kills) {
  options_.count = 8;
  const CampaignResult result = run("kills");
  EXPECT_GE(result.figure("kills that met a save"), 8);
  EXPECT_GE(result.figure("runs that reached their end"), 1);
}

TEST_F(CampaignsTest, DiskSizes) {
  options_.count = 1024;
  const CampaignResult result = run("disk");
  EXPECT_GT(result.figure("sizes in memory"), 2);
  EXPECT_GT(result.figure("sizes in memory, unknown to the writer"), 2);
  EXPECT_GT(result.figure("limits on the size of files"), 2);
  EXPECT_GT(result.figure("refused"), 6);
  if (result.figure("tmpfs not to be had") > 0) {
    GTEST_SKIP() << skip_kernel_feature("tmpfs", "all sizes of a tmpfs skipped");
  }
  EXPECT_GT(result.figure("sizes of a tmpfs"), 2);
}

TEST_F(CampaignsTest, SystemCalls) {
  options_.stride = 101;
  const CampaignResult result = run("syscalls");
  if (!result.skipped().empty()) {
    GTEST_SKIP() << skip_traced("all system calls", result.skipped());
  }
  EXPECT_GT(result.figure("calls of save"), 100);
  EXPECT_GT(result.figure("killed"), 3);
  EXPECT_GT(result.figure("refused"), 25);
}

TEST_F(CampaignsTest, CrashStates) {
  options_.count = 20'000;
  const CampaignResult result = run("crash_states");
  EXPECT_GT(result.figure("states"), 19'000);
  EXPECT_GT(result.figure("distinct"), 2'000);
  EXPECT_GT(result.figure("restored"), 30);
}

TEST_F(CampaignsTest, Flips) {
  options_.stride = 97;
  const CampaignResult result = run("flips");
  EXPECT_GT(result.figure("flips"), 500);
  EXPECT_GT(result.figure("files missing"), 3);
}

}  // namespace
}  // namespace millrace
