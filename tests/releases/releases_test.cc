// Loads the golden files of each release, which make_release.py wrote with the release's program.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kReleases[] = "tests/releases";
// Sums of LibTorch depend on the processor.
constexpr double kTolerance = 1e-5, kToleranceAfterTraining = 1e-3;

// Returns "VERSION/JOB" for each job.
std::vector<std::string> jobs() {
  std::set<std::string> jobs;
  for (const fs::directory_entry& version : fs::directory_iterator(kReleases)) {
    if (!version.is_directory()) continue;
    for (const fs::directory_entry& job : fs::directory_iterator(version.path())) {
      jobs.insert(version.path().filename().string() + "/" + job.path().filename().string());
    }
  }
  return {jobs.begin(), jobs.end()};
}

class ReleasesTest : public ProgramTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    const fs::path from = fs::path(kReleases) / GetParam();
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
      const fs::path to = path(entry.path().lexically_relative(from).string());
      if (entry.is_directory()) {
        fs::create_directories(to);
        continue;
      }
      fs::create_directories(to.parent_path());
      fs::copy_file(entry.path(), to);
      fs::permissions(to, fs::perms::owner_write, fs::perm_options::add);
    }
    expected_ = read_json("expected.json");
    fs::create_directories(path("out/checkpoints"));
    fs::rename(path("checkpoint"), path("out/checkpoints/" + std::string(expected_["checkpoint"])));
  }

  // Evaluates the newest checkpoint, and compares the metrics with `expected`.
  void expect_metrics(const json& expected, double tolerance) {
    millrace_ok(
        {"evaluate", "job.textproto", "--checkpoint", "out", "--summary", "s.json", "--overwrite"});
    const json summary = read_json("s.json");
    EXPECT_EQ(summary["steps"], expected["steps"]);
    EXPECT_EQ(summary["eval"].size(), expected["eval"].size());
    for (const auto& [metric, value] : expected["eval"].items()) {
      EXPECT_NEAR(summary["eval"].value(metric, -1.0), value.get<double>(), tolerance) << metric;
    }
  }

  json expected_;
};

TEST_P(ReleasesTest, TheConfigurationIsAccepted) {
  EXPECT_THAT(millrace_ok({"config", "check", "job.textproto"}).err, testing::IsEmpty());
}

TEST_P(ReleasesTest, TheCheckpointIsWholeAndHasItsMetrics) {
  millrace_ok({"checkpoint", "verify", newest_checkpoint("out")});
  expect_metrics(expected_["stopped"], kTolerance);
}

TEST_P(ReleasesTest, TrainingResumesFromIt) {
  const ProgramResult result = millrace_ok({"train", "job.textproto"});
  EXPECT_THAT(result.err, HasSubstr(std::string(expected_["checkpoint"])));
  expect_metrics(expected_["finished"], kToleranceAfterTraining);
}

TEST_P(ReleasesTest, ADamagedCheckpointIsRefused) {
  const std::string table = newest_checkpoint("out") + "/table-c1-00000-of-00001.safetensors";
  std::string bytes = read(table);
  bytes.back() ^= 1;
  write(table, bytes);
  EXPECT_EQ(millrace({"checkpoint", "verify", newest_checkpoint("out")}).exit_code, kBadData);
}

INSTANTIATE_TEST_SUITE_P(All, ReleasesTest, testing::ValuesIn(jobs()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '.' || c == '/' ? '_' : c;
  return name;
});

TEST(ReleaseFilesTest, ThereAreTwoJobsOfTheFirstRelease) {
  EXPECT_THAT(jobs(), testing::IsSupersetOf({"0.1.0/epochs", "0.1.0/windows"}));
}

}  // namespace
}  // namespace millrace
