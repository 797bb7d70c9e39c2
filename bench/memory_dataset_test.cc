#include "bench/memory_dataset.h"

#include <ATen/ATen.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Batch batch_of(int64_t size, int64_t first_id) {
  Batch batch;
  batch.size = size;
  batch.example_ids = at::arange(first_id, first_id + size);
  return batch;
}

// The first example ids of the batches of an epoch, at most `most`.
std::vector<int64_t> first_ids(Dataset& data, int64_t most) {
  EXPECT_OK(data.start_epoch(0));
  std::vector<int64_t> ids;
  while (static_cast<int64_t>(ids.size()) < most) {
    const auto batch = data.next();
    EXPECT_OK(batch.status());
    if (!batch.ok() || !batch->has_value()) break;
    ids.push_back((*batch)->example_ids[0].item<int64_t>());
  }
  return ids;
}

TEST(MemoryDatasetTest, BatchesTakeTurns) {
  MemoryDataset data({batch_of(2, 10), batch_of(2, 20), batch_of(2, 30)});
  EXPECT_THAT(first_ids(data, 7), ElementsAre(10, 20, 30, 10, 20, 30, 10));
  EXPECT_THAT(first_ids(data, 2), ElementsAre(10, 20)) << "an epoch begins with the first batch";
}

TEST(MemoryDatasetTest, AnEpochMayEnd) {
  MemoryDataset data({batch_of(2, 10), batch_of(2, 20)}, 3);
  EXPECT_THAT(first_ids(data, 9), ElementsAre(10, 20, 10));
  EXPECT_THAT(first_ids(data, 9), ElementsAre(10, 20, 10));
}

TEST(MemoryDatasetTest, HasNoPositions) {
  MemoryDataset data({batch_of(1, 0)});
  EXPECT_THAT(data.seek({}), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(ReadFullBatchesTest, OmitsSmallerBatches) {
  MemoryDataset data({batch_of(4, 10), batch_of(3, 20), batch_of(4, 30)}, 3);
  ASSERT_OK_AND_ASSIGN(std::vector<Batch> batches, read_full_batches(data, 8, 4));
  ASSERT_EQ(batches.size(), 2);
  EXPECT_EQ(batches[0].example_ids[0].item<int64_t>(), 10);
  EXPECT_EQ(batches[1].example_ids[0].item<int64_t>(), 30);
}

TEST(ReadFullBatchesTest, ReadsNoMoreThanAsked) {
  MemoryDataset data({batch_of(4, 10), batch_of(4, 20)});  // without end
  ASSERT_OK_AND_ASSIGN(std::vector<Batch> batches, read_full_batches(data, 3, 4));
  EXPECT_EQ(batches.size(), 3);
}

TEST(ReadFullBatchesTest, TooLittleDataIsNamed) {
  MemoryDataset data({batch_of(4, 10), batch_of(3, 20)}, 2);
  EXPECT_THAT(read_full_batches(data, 8, 5),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the data has 7 examples; a batch needs 5")));
}

}  // namespace
}  // namespace millrace
