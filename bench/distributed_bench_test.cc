#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "bench/benchmark.h"
#include "bench/check_files_testing.h"

namespace millrace {
namespace {

using testing::HasSubstr;

BenchmarkFlags small() {
  BenchmarkFlags flags;
  flags.repeats = 2;
  flags.steps = 2;
  flags.distributed.shape.tables = 2;
  flags.distributed.shape.rows = 3000;  // more than are looked up at once
  flags.distributed.shape.dim = 5;
  flags.distributed.shape.ids_per_feature = 3;
  flags.distributed.batches = {40};
  flags.distributed.optimizers = {"rowwise_adagrad"};
  return flags;
}

TEST(DistributedBench, MeasuresEachSetting) {
  BenchmarkFlags flags = small();
  flags.distributed.batches = {40, 80};
  flags.distributed.optimizers = {"sgd", "rowwise_adagrad"};
  // Values by optimizer/batch, then by name.
  std::map<std::string, std::map<std::string, Measurement>> settings;
  ASSERT_OK(bench_distributed(flags, [&](const Measurement& each) {
    EXPECT_EQ(each.values.size(), 2) << each.name;
    EXPECT_EQ(each.parameters.at("ranks"), "2");
    EXPECT_EQ(each.parameters.at("threads"), "2");
    const std::string setting = each.parameters.at("optimizer") + "/" + each.parameters.at("batch");
    EXPECT_TRUE(settings[setting].emplace(each.name, each).second) << each.name;
  }));
  ASSERT_EQ(settings.size(), 4);
  for (const auto& [setting, lines] : settings) {
    const auto value = [&](const std::string& name) {
      const auto line = lines.find(name);
      EXPECT_NE(line, lines.end()) << setting << " " << name;
      return line == lines.end() ? 0.0 : line->second.values[0];
    };
    EXPECT_GT(value("distributed"), 0) << setting;
    EXPECT_NEAR(value("distributed/share_of_one_process"),
                value("distributed") / value("distributed/one_process"), 1e-6);
    EXPECT_GT(value("distributed/bound"), 0);
    EXPECT_LT(value("distributed/bound"), 1);
    EXPECT_NEAR(value("distributed/share_of_bound"),
                value("distributed/share_of_one_process") / value("distributed/bound"), 1e-6);
    EXPECT_GT(value("distributed/transport"), 0);
    EXPECT_GT(value("distributed/unique_share"), 0);
    EXPECT_LE(value("distributed/unique_share"), 1);
    EXPECT_GE(value("distributed/owner_imbalance"), 1);
    EXPECT_LT(value("distributed/owner_imbalance"), 2);
    // All of a step: work and exchanges.
    double milliseconds = 0;
    for (const char* exchange : {"step", "ids", "rows", "sums", "vector"}) {
      const std::string name = std::string("distributed/exchange/") + exchange;
      milliseconds += value(name);
      EXPECT_GT(value(name + "/bytes"), 0) << setting << " " << exchange;
    }
    for (const char* phase :
         {"step_exchange", "fetch", "forward", "backward", "summarize", "commit", "apply"}) {
      milliseconds += value(std::string("distributed/work/") + phase);
    }
    const double ids = value("distributed") * milliseconds / 1e3;
    const double in_step = 2 * 3 * std::stod(lines.at("distributed").parameters.at("batch"));
    EXPECT_LE(ids, in_step * 1.001) << setting;
    EXPECT_GT(ids, in_step * 0.3) << setting;
    // Two rows of 5 numbers come back for an id of 8 bytes, and as many numbers go.
    EXPECT_GT(value("distributed/exchange/rows/bytes"), value("distributed/exchange/ids/bytes"));
    EXPECT_GT(value("distributed/exchange/sums/bytes"), value("distributed/exchange/rows/bytes"));
  }
}

// The files of --check, and stochastic gradient descent on the same data in a plain loop.
TEST(DistributedBench, CheckIsWhatAPlainLoopComputes) {
  BenchmarkFlags flags = small();
  const std::string directory = testing::TempDir();
  flags.threads = flags.distributed.ranks = 4;
  flags.distributed.optimizers = {"sgd"};
  flags.distributed.data = directory;
  flags.distributed.check = true;
  flags.distributed.overwrite = true;
  flags.steps = 9;  // one more than there are batches
  for (const char* channel : {"TCP", "C10D"}) {
    SCOPED_TRACE(channel);
    flags.distributed.table_channels = {channel};
    ASSERT_OK(bench_distributed(flags, [](const Measurement&) { FAIL() << "measured"; }));
    expect_plain_loop(directory, flags.steps);
  }
}

TEST(DistributedBench, BadFlagsAreRefused) {
  const auto refused = [](const BenchmarkFlags& flags, const char* text) {
    EXPECT_THAT(bench_distributed(flags, [](const Measurement&) {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  };
  BenchmarkFlags flags = small();
  flags.distributed.optimizers = {"sgd", "adagard"};
  refused(flags, "adagrad");
  flags = small();
  flags.distributed.optimizers.clear();
  refused(flags, "--optimizer");
  flags = small();
  flags.distributed.table_channels = {"c10d"};
  refused(flags, "--table_channel is c10d");
  flags = small();
  flags.distributed.ranks = 1;
  refused(flags, "--ranks is 1; at least 2");
  flags.distributed.ranks = 65;
  refused(flags, "--ranks is 65; at most 64");
  flags.distributed.ranks = 3;
  refused(flags, "--threads is 2; it must be a multiple of --ranks, 3");
  flags.threads = 3;
  refused(flags, "--batch is 40; it must be a multiple of --ranks, 3");
  flags = small();
  flags.distributed.batches = {0};
  refused(flags, "--batch is 0");
  flags.distributed.batches = {};
  refused(flags, "--batch");
  flags = small();
  flags.distributed.check = true;
  refused(flags, "--data");
  flags = small();
  flags.distributed.data = testing::TempDir();
  flags.distributed.batches = {40, 80};
  refused(flags, "one --batch");
  flags = small();
  flags.distributed.shape.rows = 0;
  refused(flags, "--rows");
}

}  // namespace
}  // namespace millrace
