#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "bench/benchmark.h"

namespace millrace {
namespace {

using testing::HasSubstr;

BenchmarkFlags small() {
  BenchmarkFlags flags;
  flags.repeats = 2;
  flags.steps = 3;
  flags.checkpoint.shape.tables = 2;
  flags.checkpoint.shape.rows = 3000;
  flags.checkpoint.shape.dim = 8;
  flags.checkpoint.shape.batch = 40;
  flags.checkpoint.directory = join_path(testing::TempDir(), "checkpoint_bench");
  return flags;
}

TEST(CheckpointBench, MeasuresEachFigureAndLeavesNothing) {
  const BenchmarkFlags flags = small();
  std::map<std::string, Measurement> measured;
  ASSERT_OK(bench_checkpoint(flags, [&](const Measurement& each) { measured[each.name] = each; }));
  for (const char* name :
       {"save", "raw_write", "save/raw_write", "load", "raw_read", "load/raw_read",
        "asynchronous/stop", "asynchronous/until_durable", "asynchronous/step/without",
        "asynchronous/step/meanwhile", "asynchronous/step/meanwhile/without",
        "asynchronous/step_p99/without", "asynchronous/step_p99/meanwhile"}) {
    const Measurement& each = measured[absl::StrCat("checkpoint/", name)];
    ASSERT_EQ(each.values.size(), 2) << name;
    EXPECT_GT(each.values[0], 0) << name;
    EXPECT_EQ(each.parameters.at("optimizer"), "adam");
    EXPECT_EQ(each.higher_is_better, each.unit == "MB/s" || name == std::string("save/raw_write") ||
                                         name == std::string("load/raw_read"))
        << name;
  }
  // Ids, weights and two slots of 8 numbers, frequency, last step.
  const double megabytes = 1e-6 * 2 * 3000 * (8 + 3 * 4 * 8 + 16);
  EXPECT_NEAR(measured["checkpoint/bytes"].values[0], megabytes, 0.05 * megabytes);
  const double delta = measured["checkpoint/delta/full"].values[0];
  EXPECT_GT(delta, 0.01);
  EXPECT_LT(delta, 0.03);
  ASSERT_OK_AND_ASSIGN(const auto left, FileSystem::local().list(flags.checkpoint.directory));
  EXPECT_TRUE(left.empty());
}

TEST(CheckpointBench, BadFlagsAreRefused) {
  BenchmarkFlags flags = small();
  flags.checkpoint.directory = "~/b";
  EXPECT_THAT(bench_checkpoint(flags, [](const Measurement&) {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("~/b")));
  flags.checkpoint.directory = "";
  EXPECT_THAT(bench_checkpoint(flags, [](const Measurement&) {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--directory")));
  flags = small();
  flags.checkpoint.optimizer = "adm";
  EXPECT_THAT(bench_checkpoint(flags, [](const Measurement&) {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("adam")));
}

}  // namespace
}  // namespace millrace
