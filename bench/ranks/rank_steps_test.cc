#include "bench/ranks/rank_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "bench/embedding/embedding_steps.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

using testing::HasSubstr;

EmbeddingWorkload small_workload() {
  absl::StatusOr<EmbeddingWorkload> workload = EmbeddingWorkload::create(
      {.tables = 2, .rows = 3000, .dim = 5, .batch = 60, .ids_per_feature = 3});
  EXPECT_OK(workload);
  return *std::move(workload);
}

std::vector<float> floats(const std::string& bytes) {
  std::vector<float> result(bytes.size() / sizeof(float));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

struct Weights {
  std::string before, after;
};

constexpr int64_t kSteps = 10;  // more than there are batches

absl::StatusOr<Weights> weights_over_ranks(const std::string& optimizer, int world_size) {
  Weights weights;
  std::mutex mutex;
  for (const absl::Status& status :
       run_thread_ranks({.world_size = world_size},
                        [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
                          const int rank = collectives->rank();
                          RankSteps steps(small_workload(), std::move(collectives));
                          RETURN_IF_ERROR(steps.prepare(optimizer, 1, best_instruction_set()));
                          ASSIGN_OR_RETURN(const std::string before, steps.weights());
                          RankSteps::Figures figures;
                          RETURN_IF_ERROR(steps.run(kSteps, figures));
                          ASSIGN_OR_RETURN(const std::string after, steps.weights());
                          for (const double seconds : figures.seconds) EXPECT_GT(seconds, 0);
                          for (const auto& total : figures.exchanges) EXPECT_GT(total.bytes, 0);
                          if (rank == 0) {
                            const std::lock_guard<std::mutex> lock(mutex);
                            weights = {before, after};
                          } else {
                            EXPECT_EQ(after, "");
                          }
                          return absl::OkStatus();
                        })) {
    RETURN_IF_ERROR(status);
  }
  return weights;
}

TEST(RankStepsTest, ComputesWhatOneProcessComputes) {
  for (const std::string optimizer : {"sgd", "rowwise_adagrad"}) {
    EmbeddingSteps alone(small_workload());
    ASSERT_OK(alone.prepare(optimizer, 1));
    ASSERT_OK_AND_ASSIGN(const std::string before, alone.weights());
    EmbeddingSteps::Seconds seconds = {};
    ASSERT_OK(alone.run(kSteps, seconds));
    ASSERT_OK_AND_ASSIGN(const std::string after, alone.weights());
    EXPECT_NE(before, after);
    for (const int world_size : {2, 3}) {
      ASSERT_OK_AND_ASSIGN(const Weights ranks, weights_over_ranks(optimizer, world_size));
      EXPECT_EQ(ranks.before, before) << "the initial values of rows do not depend on ranks";
      const std::vector<float> expected = floats(after), actual = floats(ranks.after);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        ASSERT_NEAR(actual[i], expected[i], 1e-6) << optimizer << " " << world_size << " " << i;
      }
    }
  }
}

TEST(RankStepsTest, AnExchangeOfAnySizeIsMeasured) {
  for (const absl::Status& status : run_thread_ranks(
           {.world_size = 3}, [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
             Collectives& sockets = *collectives;
             RankSteps steps(small_workload(), std::move(collectives));
             ASSIGN_OR_RETURN(const double seconds, steps.exchange(1000, 5));
             EXPECT_GT(seconds, 0);
             EXPECT_EQ(sockets.table_traffic().bytes_sent, 6 * 2 * (24 + 1000));
             return absl::OkStatus();
           })) {
    EXPECT_OK(status);
  }
}

TEST(RankStepsTest, AnUnknownOptimizerIsRefused) {
  for (const absl::Status& status : run_thread_ranks(
           {.world_size = 2}, [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
             RankSteps steps(small_workload(), std::move(collectives));
             EXPECT_THAT(steps.prepare("adagard", 1, best_instruction_set()),
                         StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("adagrad")));
             return absl::OkStatus();
           })) {
    EXPECT_OK(status);
  }
}

}  // namespace
}  // namespace millrace
