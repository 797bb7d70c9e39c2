// Tests `millrace train` on mixed and sampled data, interrupted and with other numbers of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr int64_t kRows = 600;         // of the large source
constexpr int64_t kSmallRows = 30;     // of the small source
constexpr int64_t kSmallFirst = 9000;  // its first example id

// 40 steps of 20 examples on one rank, 15 of the large source and 5 of the small source.
constexpr char kJob[] = R"(
train {
  train_data {
    batch_size: 20
    mix {
      source { name: "large" proportion: 3 data { path: "large.parquet" shuffle_rows: 200 } }
      source { name: "small" proportion: 1 data { path: "small.csv" shuffle_rows: 100
               csv { list_delimiter: "|" } } repeat: true }
    }
  }
  eval_data { data { path: "large.parquet" batch_size: 100 sample { negative_rate: 0.5 } } }
  feature { name: "label" kind: LABEL }
  feature { name: "row" kind: EXAMPLE_ID }
  feature { name: "i{1..2}" kind: DENSE default_value: 0 }
  model { name: "mlp" [millrace.mlp] { hidden: [4] } }
}
run {
  threads: 1
  report { when { every_steps: 10 at_end: true } }
  distributed { rendezvous_timeout_seconds: 20 collective_timeout_seconds: 10 }
  hooks { name: "example_trace" }
}
)";

class MixTest : public ProgramTest {
 protected:
  MixTest() {
    write("job.textproto", kJob);
    EXPECT_OK(write_data_file(criteo_like_table(kRows, 2, 0), DataConfig::PARQUET, 70,
                              path("large.parquet")));
    EXPECT_OK(write_data_file(criteo_like_table(kSmallRows, 2, 0, kSmallFirst), DataConfig::CSV, 0,
                              path("small.csv")));
  }
  ProgramResult train(std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {"train", "job.textproto"});
    return millrace_ok(std::move(flags));
  }
  ProgramResult train_on(int ranks, std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(),
                 {"launch", "-n", absl::StrCat(ranks), "--", "train", "job.textproto"});
    return millrace_ok(std::move(flags), std::chrono::seconds(50));
  }

  // Returns the example ids of every step, over all ranks. Expects that no step was made twice.
  std::map<int64_t, std::vector<int64_t>> trained(const std::string& output_dir) const {
    std::map<int64_t, std::vector<int64_t>> steps;
    const std::string folder = output_dir + "/example_trace/";
    for (const std::string& file : files_below(folder)) {
      for (const Json& line : read_json_lines(folder + file)) {
        std::vector<int64_t>& ids = steps[line["step"].get<int64_t>()];
        for (const Json& id : line["ids"]) ids.push_back(id.get<int64_t>());
      }
    }
    return steps;
  }
};

// Returns the number of occurrences of each example in all steps.
std::map<int64_t, int64_t> times(const std::map<int64_t, std::vector<int64_t>>& steps) {
  std::map<int64_t, int64_t> times;
  for (const auto& [step, ids] : steps) {
    for (const int64_t id : ids) ++times[id];
  }
  return times;
}

TEST_F(MixTest, EveryStepHoldsItsSharesAndARunThatIsCutGoesOn) {
  train({"--output_dir", "whole"});
  const auto steps = trained("whole");
  ASSERT_EQ(steps.size(), 40u);
  for (const auto& [step, ids] : steps) {
    int64_t small = 0;
    for (const int64_t id : ids) small += id >= kSmallFirst ? 1 : 0;
    EXPECT_EQ(ids.size(), 20u) << step;
    EXPECT_EQ(small, 5) << step;
  }
  const auto counts = times(steps);
  ASSERT_EQ(counts.size(), kRows + kSmallRows);
  for (const auto& [id, count] : counts) {
    EXPECT_TRUE(id < kSmallFirst ? count == 1 : count == 6 || count == 7) << id << ": " << count;
  }

  train({"--max_steps", "7"});
  train({"--max_steps", "23"});
  EXPECT_THAT(train().err, HasSubstr("resuming from out/checkpoints/step-00000023"));
  EXPECT_EQ(trained("out"), steps);
  EXPECT_EQ(content_of("out"), content_of("whole"));
}

TEST_F(MixTest, WithOtherNumbersOfRanksEveryExampleComesOnce) {
  train({"--max_steps", "7"});
  train_on(3, {"--max_steps", "14"});
  train_on(2);
  int64_t least = kRows, most = 0;
  for (const auto& [id, count] : times(trained("out"))) {
    if (id < kSmallFirst) {
      EXPECT_EQ(count, 1) << id;
      continue;
    }
    least = std::min(least, count);
    most = std::max(most, count);
  }
  EXPECT_EQ(times(trained("out")).size(), kRows + kSmallRows);
  EXPECT_GE(least, 5);
  EXPECT_LE(most, 8);
}

TEST_F(MixTest, SampledNegativesAreWeighed) {
  train();
  const std::vector<std::string> evaluate = {"evaluate", "job.textproto", "--checkpoint",
                                             "out",      "--summary",     "s.json"};
  millrace_ok(evaluate);
  const auto calibration = [this] {
    return read_json("s.json")["eval"]["calibration"].get<double>();
  };
  const double sampled = calibration();
  std::vector<std::string> all = evaluate;
  all.insert(all.end(), {"--set", "train.eval_data[0].data.sample={}"});
  millrace_ok(all);
  const double whole = calibration();
  EXPECT_NE(sampled, whole);
  EXPECT_NEAR(sampled / whole, 1, 0.15);
  all.back() = "train.eval_data[0].data.sample.correct_weights=false";
  millrace_ok(all);
  // A quarter of all examples have label 1, but two fifths of the kept examples.
  EXPECT_NEAR(calibration() / whole, 0.25 / 0.4, 0.15);
}

TEST_F(MixTest, WhatCannotBeMixedIsSaidBeforeAnythingIsRead) {
  const auto check = [this](const std::string& assignment) {
    const ProgramResult result =
        millrace({"config", "check", "job.textproto", "--set", assignment});
    EXPECT_EQ(result.exit_code, kUsage) << assignment;
    return result.err;
  };
  EXPECT_THAT(check("train.train_data.windows={}"),
              AllOf(HasSubstr("train.train_data.mix"), HasSubstr("windows")));
  EXPECT_THAT(check("train.train_data.shuffle_rows=7"), HasSubstr("shuffle_rows is given beside"));
  EXPECT_THAT(check("train.train_data.mix.source[0].repeat=true"), HasSubstr("all sources repeat"));
  EXPECT_THAT(check("train.train_data.mix.source[0].data.path=[]"),
              HasSubstr("mix.source[0] \"large\".data: path is missing"));
}

}  // namespace
}  // namespace millrace
