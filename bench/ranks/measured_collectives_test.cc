#include "bench/ranks/measured_collectives.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>

#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

using Buffers = std::vector<ByteBuffer>;

// Exchanges `bytes` with each other rank.
absl::Status exchange(Collectives& collectives, size_t bytes) {
  Buffers sent(collectives.world_size()), received(collectives.world_size());
  for (ByteBuffer& buffer : sent) buffer.append(std::string(bytes, 'x'));
  RETURN_IF_ERROR(collectives.start_exchange(sent, absl::MakeSpan(received))->wait());
  for (int rank = 0; rank < collectives.world_size(); ++rank) {
    if (rank != collectives.rank()) EXPECT_EQ(received[rank].size(), bytes);
  }
  return absl::OkStatus();
}

void on_ranks(int world_size, const std::function<absl::Status(Collectives&)>& body) {
  for (const absl::Status& status : run_thread_ranks(
           {.world_size = world_size},
           [&](std::unique_ptr<Collectives> collectives) { return body(*collectives); })) {
    EXPECT_OK(status);
  }
}

TEST(MeasuredCollectivesTest, CountsTheExchangesOfSteps) {
  on_ranks(3, [](Collectives& ranks) -> absl::Status {
    MeasuredCollectives measured(ranks);
    for (int step = 0; step < 2; ++step) {
      measured.begin_step();
      std::vector<int64_t> numbers = {1, 2, 3};
      RETURN_IF_ERROR(measured.start_sum(absl::MakeSpan(numbers))->wait());
      EXPECT_EQ(numbers[2], 9);
      for (const size_t bytes : {10, 100, 1000}) RETURN_IF_ERROR(exchange(measured, bytes));
      std::vector<double> vector = {0.25, 0.5, 1, 2, 4};
      RETURN_IF_ERROR(measured.start_sum(absl::MakeSpan(vector))->wait());
      EXPECT_THAT(vector, ElementsAre(0.75, 1.5, 3, 6, 12));
    }
    const MeasuredCollectives::Totals totals = measured.take_totals();
    const int64_t others = 2, steps = 2;
    EXPECT_EQ(totals[MeasuredCollectives::kStep].bytes, steps * others * (16 + 3 * 8));
    EXPECT_EQ(totals[MeasuredCollectives::kIds].bytes, steps * others * (24 + 10));
    EXPECT_EQ(totals[MeasuredCollectives::kRows].bytes, steps * others * (24 + 100));
    EXPECT_EQ(totals[MeasuredCollectives::kSums].bytes, steps * others * (24 + 1000));
    EXPECT_EQ(totals[MeasuredCollectives::kVector].bytes, steps * others * (16 + 5 * 8));
    for (const auto& total : totals) EXPECT_GT(total.seconds, 0);
    for (const auto& total : measured.take_totals()) {
      EXPECT_EQ(total.bytes, 0);
      EXPECT_EQ(total.seconds, 0);
    }
    return absl::OkStatus();
  });
}

TEST(MeasuredCollectivesTest, AStepBeginsWithIdsAlsoAfterAnEvaluation) {
  on_ranks(2, [](Collectives& ranks) -> absl::Status {
    MeasuredCollectives measured(ranks);
    measured.begin_step();
    for (const size_t bytes : {1, 2}) RETURN_IF_ERROR(exchange(measured, bytes));
    measured.begin_step();
    RETURN_IF_ERROR(exchange(measured, 4));
    const MeasuredCollectives::Totals totals = measured.take_totals();
    EXPECT_EQ(totals[MeasuredCollectives::kIds].bytes, 24 + 1 + 24 + 4);
    EXPECT_EQ(totals[MeasuredCollectives::kRows].bytes, 24 + 2);
    EXPECT_EQ(totals[MeasuredCollectives::kSums].bytes, 0);
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace millrace
