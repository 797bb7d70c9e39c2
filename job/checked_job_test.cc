#include "job/checked_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_matchers.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Matcher;
using ::testing::StartsWith;

constexpr char kJob[] = R"(
    train {
      train_data { path: "train.csv" }
      eval_data { data { path: "eval.csv" } }
      feature { name: "label" kind: LABEL }
      feature { name: "c{1..2}" table: "c" }
      table { name: "c" dim: 4 }
      model { name: "deepfm" }
    }
    run { output_dir: "out" })";

absl::StatusOr<CheckedJob> check(const std::vector<std::string>& changes,
                                 CheckedJob::Options options) {
  JobConfig config;
  EXPECT_OK(parse_text(kJob, "the test", &config));
  for (const std::string& change : changes) EXPECT_OK(apply_override(change, &config));
  return CheckedJob::check(FileSystem::local(), std::move(config), "job", options);
}

TEST(CheckedJobTest, HasExpandedNames) {
  ASSERT_OK_AND_ASSIGN(const CheckedJob job, check({}, {}));
  EXPECT_EQ(job.train().feature_size(), 3);
  EXPECT_EQ(job.train().feature(2).name(), "c2");
}

TEST(CheckedJobTest, ReportsAnOptionOfAMetricOnce) {
  EXPECT_THAT(check({"train.metric=['auc_buckets']",
                     "train.custom_metric=[{name: 'auc_buckets' [millrace.auc_buckets] "
                     "{buckets: 0}}]"},
                    {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "job: train.custom_metric[0]: buckets is 0; must be 1 to 1000000"));
}

// A program of one's own passes the same rules as the commands, each once.
TEST(CheckedJobTest, ReportsEachMistakeOnce) {
  struct Case {
    std::string change;
    std::vector<std::string> lines;  // of a job that trains on two ranks
    bool model_is_refused = false;   // also where the model and the data alone are used
  };
  for (const Case& c : std::vector<Case>{
           {"train.table[0].dim=0", {"train.table[0] \"c\": dim is 0"}, true},
           {"train.metric=['acu']", {"train.metric[0]: "}, true},
           {"train.slice={feature: 'c1' max_ids: 0}", {"train.slice"}, true},
           {"train.model.name=no_such", {"train.model: no model \"no_such\""}},
           {"train.hooks=[{name: 'no_such'}]", {"train.hooks[0]: no hook \"no_such\""}},
           {"run.hooks=[{name: 'no_such'}]", {"run.hooks[0]: no hook \"no_such\""}},
           {"run.log.metric=['acu']", {"run.log.metric[0] \"acu\": "}},
           {"train.global_batch_size=7", {"train: "}},
           {"run.evaluation.best={term {monitor: 'evla/loss'}}", {"run.evaluation.best"}},
       }) {
    std::vector<Matcher<std::string>> lines;
    for (const std::string& line : c.lines) {
      lines.push_back(StartsWith(absl::StrCat(lines.empty() ? "" : "  ", "job: ", line)));
    }
    const absl::Status training = check({c.change}, {.ranks = 2}).status();
    EXPECT_EQ(training.code(), absl::StatusCode::kInvalidArgument) << c.change;
    const std::vector<std::string> found = absl::StrSplit(training.message(), '\n');
    EXPECT_THAT(found, ElementsAreArray(lines)) << c.change;
    EXPECT_EQ(check({c.change}, {.use = CheckedJob::Use::kModel}).ok(), !c.model_is_refused)
        << c.change;
  }
}

TEST(CheckedJobTest, AChangeComesBeforeTheRules) {
  const auto mend = [](JobConfig* config) {
    return apply_override("train.table[0].dim=2", config);
  };
  EXPECT_OK(check({"train.table[0].dim=0"}, {.change = mend}));
  const auto fail = [](JobConfig*) { return absl::InvalidArgumentError("--set: no"); };
  EXPECT_THAT(check({}, {.change = fail}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--set: no")));
}

TEST(CheckedJobTest, ReadsAFile) {
  const std::string path = testing::TempDir() + "/job.textproto";
  ASSERT_OK(write_file_atomically(FileSystem::local(), path, kJob));
  EXPECT_OK(CheckedJob::load(FileSystem::local(), path));
  EXPECT_THAT(CheckedJob::load(FileSystem::local(), path + "x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("job.textprotox")));
}

}  // namespace
}  // namespace millrace
