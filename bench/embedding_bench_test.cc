#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "bench/benchmark.h"
#include "bench/check_files_testing.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

BenchmarkFlags small() {
  BenchmarkFlags flags;
  flags.embedding.shape.tables = 2;
  flags.embedding.shape.rows = 3000;  // more than are looked up at once
  flags.embedding.shape.dim = 5;
  flags.embedding.shape.batch = 40;
  flags.embedding.shape.ids_per_feature = 3;
  return flags;
}

TEST(EmbeddingBench, MeasuresStepsAndTheirPhases) {
  BenchmarkFlags flags = small();
  flags.repeats = 3;
  flags.steps = 2;
  flags.embedding.optimizer = "rowwise_adagrad";
  std::vector<Measurement> measured;
  ASSERT_OK(bench_embedding(flags, [&](const Measurement& each) { measured.push_back(each); }));
  std::vector<std::string> names, units;
  for (const Measurement& each : measured) {
    names.push_back(each.name);
    units.push_back(each.unit);
    EXPECT_EQ(each.values.size(), 3) << each.name;
    EXPECT_EQ(each.parameters.at("optimizer"), "rowwise_adagrad");
    EXPECT_EQ(each.parameters.at("ids_per_feature"), "3");
  }
  EXPECT_THAT(names, ElementsAre("embedding", "embedding/forward", "embedding/backward",
                                 "embedding/summarize", "embedding/apply", "embedding/foreign",
                                 "embedding/stolen"));
  EXPECT_THAT(units, ElementsAre("ids/s", "ms", "ms", "ms", "ms", "cores", "cores"));
  // The phases are the whole step: ids/s times ms of all phases is the ids of a step.
  double milliseconds = 0;
  for (int phase = 1; phase <= 4; ++phase) milliseconds += measured[phase].values[0];
  const double ids = measured[0].values[0] * milliseconds / 1e3;
  EXPECT_LE(ids, 2 * 40 * 3 * 1.001);
  EXPECT_GT(ids, 2 * 40 * 3 * 0.3);
}

// The files of --check, and stochastic gradient descent on the same data in a plain loop.
TEST(EmbeddingBench, CheckIsWhatAPlainLoopComputes) {
  BenchmarkFlags flags = small();
  const std::string directory = testing::TempDir();
  flags.embedding.data = directory;
  flags.embedding.check = true;
  flags.steps = 9;  // one more than there are batches
  ASSERT_OK(bench_embedding(flags, [](const Measurement&) { FAIL() << "measured"; }));

  const std::vector<float> before = expect_plain_loop(directory, flags.steps);
  ASSERT_GT(before.size(), 5);
  EXPECT_NE(before[0], before[5]) << "rows begin with values of their own";
}

TEST(EmbeddingBench, BadFlagsAreRefused) {
  const auto refused = [](const BenchmarkFlags& flags, const char* text) {
    EXPECT_THAT(bench_embedding(flags, [](const Measurement&) {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  };
  BenchmarkFlags flags = small();
  flags.embedding.optimizer = "adagard";
  refused(flags, "adagrad");
  flags = small();
  flags.embedding.check = true;
  refused(flags, "--data");
  flags = small();
  flags.embedding.shape.rows = 0;
  refused(flags, "--rows");
}

TEST(EmbeddingBench, ADirectoryThatIsNotThereIsNamed) {
  BenchmarkFlags flags = small();
  flags.embedding.data = testing::TempDir() + "/missing/directory";
  const absl::Status status = bench_embedding(flags, [](const Measurement&) {});
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("missing/directory"));
}

}  // namespace
}  // namespace millrace
