#include "io/epoch/batcher.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename T>
std::vector<T> values(const at::Tensor& tensor) {
  EXPECT_TRUE(tensor.is_contiguous());
  const T* data = tensor.const_data_ptr<T>();
  return {data, data + tensor.numel()};
}

// Two rows: feature 0 has one id each, feature 1 a list.
Block block_a() {
  Block block;
  block.sparse = {{.rows = 2, .offsets = {}, .values = {10, 11}},
                  {.rows = 2, .offsets = {0, 0, 3}, .values = {20, 21, 22}}};
  block.dense = {{1, 2}, {3, 4}};
  block.labels = {{0, 1}};
  block.example_ids = {100, 101};
  block.order = {{1, 0}, {0, 1}};
  return block;
}

Block block_b() {
  Block block;
  block.sparse = {{.rows = 1, .offsets = {0, 2}, .values = {12, 13}},
                  {.rows = 1, .offsets = {}, .values = {23}}};
  block.dense = {{5}, {6}};
  block.labels = {{0}};
  block.example_ids = {102};
  block.order = {{0, 2}};
  return block;
}

// Of all rows of these blocks in their orders.
Batch batch_of(std::vector<Block> blocks) {
  std::vector<BatchPiece> pieces;
  for (Block& block : blocks) {
    put_in_order(&block);
    pieces.push_back({&block, block.order});
  }
  return build_batch(pieces);
}

TEST(BuildBatchTest, GathersRowsOfSeveralBlocksFeatureAfterFeature) {
  const Batch batch = batch_of({block_a(), block_b()});
  EXPECT_EQ(batch.size, 3);
  EXPECT_THAT(values<int64_t>(batch.sparse.values), ElementsAre(11, 10, 12, 13, 20, 21, 22, 23));
  EXPECT_THAT(values<int64_t>(batch.sparse.offsets), ElementsAre(0, 1, 2, 4, 7, 7, 8));
  EXPECT_THAT(batch.dense.sizes(), ElementsAre(3, 2));
  EXPECT_THAT(values<float>(batch.dense), ElementsAre(2, 4, 1, 3, 5, 6));
  EXPECT_THAT(batch.labels.sizes(), ElementsAre(3, 1));
  EXPECT_THAT(values<float>(batch.labels), ElementsAre(1, 0, 0));
  EXPECT_THAT(values<int64_t>(batch.example_ids), ElementsAre(101, 100, 102));
  EXPECT_FALSE(batch.weights.defined());
  EXPECT_FALSE(batch.group_ids.defined());
}

TEST(BuildBatchTest, WeightsAndGroupsWhereTheSchemaHasThem) {
  Block block = block_a();
  block.weights = {0.5, 2};
  block.group_ids = {7, 8};
  const Batch batch = batch_of({block});
  EXPECT_THAT(values<float>(batch.weights), ElementsAre(2, 0.5));
  EXPECT_THAT(values<int64_t>(batch.group_ids), ElementsAre(8, 7));
}

TEST(BuildBatchTest, KeptColumnsGoWithTheirRows) {
  Block a = block_a(), b = block_b();
  EXPECT_EQ(batch_of({a, b}).kept, nullptr);
  Column numbers, texts;
  numbers.rows = texts.rows = 2;
  numbers.int64s = {5, 6};
  texts.type = ValueType::kString;
  texts.strings.push_back("x");
  texts.offsets = {0, 0, 1};  // the first is missing
  a.kept = {numbers, texts};
  b.kept = {numbers, texts};
  const Batch batch = batch_of({a, b});
  ASSERT_EQ(batch.kept->size(), 2u);
  const Column& first = (*batch.kept)[0];
  EXPECT_EQ(first.rows, 3);
  EXPECT_THAT(first.int64s, ElementsAre(6, 5, 5)) << "the order of the examples";
  const Column& second = (*batch.kept)[1];
  EXPECT_THAT(second.offsets, ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(second.strings[0], "x");
}

TEST(BuildBatchTest, ExamplesOfABlockWithoutWeightsWeighOne) {
  const Block a = block_a();
  Block b = block_b();
  b.weights = {3};
  EXPECT_THAT(values<float>(batch_of({a, b}).weights), ElementsAre(1, 1, 3));
  EXPECT_THAT(values<float>(batch_of({b, a}).weights), ElementsAre(3, 1, 1));
}

TEST(BuildBatchTest, NoSparseAndNoDenseFeatures) {
  Block block = block_a();
  block.sparse.clear();
  block.dense.clear();
  const Batch batch = batch_of({block});
  EXPECT_THAT(values<int64_t>(batch.sparse.offsets), ElementsAre(0));
  EXPECT_EQ(batch.sparse.values.numel(), 0);
  EXPECT_THAT(batch.dense.sizes(), ElementsAre(2, 0));
}

TEST(BuildBatchTest, WeightsOfIdsWhereAColumnHasThem) {
  Block a = block_a();
  const Block b = block_b();
  EXPECT_FALSE(batch_of({a, b}).sparse.weights.defined());
  a.sparse[1].weights = {0.5, 2, 3};
  const Batch batch = batch_of({a, b});
  EXPECT_THAT(values<float>(batch.sparse.weights), ElementsAre(1, 1, 1, 1, 0.5, 2, 3, 1));
}

// Blocks of the given positions; row r of each has example id = its position.
Batcher::NextBlock blocks(std::vector<std::vector<int64_t>> positions, absl::Status end = {}) {
  auto next = std::make_shared<size_t>(0);
  return [positions, next, end]() -> absl::StatusOr<std::optional<Block>> {
    if (*next == positions.size()) {
      if (!end.ok()) return end;
      return std::nullopt;
    }
    Block block;
    block.labels.emplace_back();
    for (const int64_t position : positions[(*next)++]) {
      block.order.push_back({static_cast<int32_t>(block.example_ids.size()), position});
      block.example_ids.push_back(position);
      block.labels[0].push_back(0);
    }
    return block;
  };
}

std::vector<int64_t> ids(const Batch& batch) {
  const int64_t* data = batch.example_ids.const_data_ptr<int64_t>();
  return {data, data + batch.size};
}

std::vector<std::vector<int64_t>> all(Batcher* batcher) {
  std::vector<std::vector<int64_t>> batches;
  while (true) {
    const absl::StatusOr<std::optional<Batch>> batch = batcher->next();
    EXPECT_OK(batch);
    if (!batch.ok() || !batch->has_value()) return batches;
    batches.push_back(ids(**batch));
  }
}

TEST(BatcherTest, CutsAcrossBlocks) {
  const std::vector<std::vector<int64_t>> source = {{0, 1, 2}, {}, {3}, {4, 5, 6, 7, 8}, {9}};
  Batcher batcher(4, false, {.epoch = 0, .rows_left = {{0, 10}}}, blocks(source));
  EXPECT_THAT(all(&batcher),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7), ElementsAre(8, 9)));
  EXPECT_THAT(all(&batcher), IsEmpty());
  Batcher whole(100, false, {.epoch = 0, .rows_left = {{0, 10}}}, blocks(source));
  EXPECT_THAT(all(&whole), ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)));
  Batcher single(1, false, {.epoch = 0, .rows_left = {{0, 10}}}, blocks(source));
  EXPECT_EQ(all(&single).size(), 10u);
}

TEST(BatcherTest, DropsTheRemainder) {
  Batcher batcher(4, true, {.epoch = 0, .rows_left = {{0, 6}}}, blocks({{0, 1, 2}, {3, 4, 5}}));
  EXPECT_THAT(all(&batcher), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(BatcherTest, CursorsStandJustAfterTheLastRow) {
  // Positions 2, 5 and 13 are outside the split.
  Batcher batcher(3, false, {.epoch = 4, .rows_left = {{0, 6}, {10, 15}}, .fingerprint = 9},
                  blocks({{0, 1, 3}, {4}, {10, 11, 12}, {14}}));
  auto left = [&]() { return (*batcher.next())->cursor.rows_left(); };
  EXPECT_THAT(left(), ElementsAre(RowInterval{4, 6}, RowInterval{10, 15}));
  EXPECT_THAT(left(), ElementsAre(RowInterval{12, 15}));
  const Batch last = **batcher.next();
  EXPECT_THAT(ids(last), ElementsAre(12, 14));
  EXPECT_THAT(last.cursor.rows_left(), IsEmpty());
  EXPECT_EQ(last.cursor.epoch, 4);
  EXPECT_EQ(last.cursor.fingerprint, 9u);
}

TEST(BatcherTest, InStepsOfAnySize) {
  Batcher batcher(100, true, {.epoch = 0, .rows_left = {{0, 9}}},
                  blocks({{0, 1, 2}, {3, 4}, {6, 7}}));
  const auto take = [&batcher](int64_t count) {
    std::vector<int64_t> positions;
    for (const BatchPiece& piece : batcher.take(count)) {
      for (const BlockRow& row : piece.rows) positions.push_back(row.position);
    }
    return positions;
  };
  EXPECT_EQ(*batcher.available(2), 2);
  EXPECT_EQ(*batcher.available(4), 4);
  EXPECT_EQ(batcher.position().rows_left[0].begin, 0) << "nothing is taken yet";
  EXPECT_THAT(take(1), ElementsAre(0));
  EXPECT_EQ(batcher.release(), 0);
  EXPECT_EQ(batcher.position().rows_left[0].begin, 1);
  EXPECT_EQ(*batcher.available(3), 3);
  EXPECT_THAT(take(3), ElementsAre(1, 2, 3));
  batcher.release();
  EXPECT_EQ(*batcher.available(10), 3) << "that is all";
  EXPECT_FALSE(batcher.at_end());
  EXPECT_THAT(take(10), ElementsAre(4, 6, 7));
  EXPECT_TRUE(batcher.at_end());
  batcher.release();
  EXPECT_THAT(batcher.position().rows_left, ElementsAre(RowInterval{8, 9}));
  EXPECT_EQ(*batcher.available(1), 0);
  EXPECT_THAT(take(1), IsEmpty());
  batcher.release();
}

TEST(BatcherTest, ErrorsPassThrough) {
  Batcher batcher(2, false, {.epoch = 0, .rows_left = {{0, 9}}},
                  blocks({{0, 1}, {2}}, absl::DataLossError("torn")));
  EXPECT_OK(batcher.next());
  EXPECT_THAT(batcher.next(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("torn")));
}

TEST(BatcherTest, BadExamplesAreCountedWithTheBatchTheyLieBefore) {
  // Positions 1, 4, 5 and 9 are bad; 2 is outside the split.
  const std::vector<std::vector<int64_t>> good = {{0, 3}, {}, {6, 7}, {8}};
  const std::vector<std::vector<int64_t>> bad = {{1}, {4, 5}, {}, {9}};
  for (const bool fails : {false, true}) {
    auto next = std::make_shared<size_t>(0);
    Batcher batcher(
        2, false, {.epoch = 0, .rows_left = {{0, 10}}},
        [&, next]() -> absl::StatusOr<std::optional<Block>> {
          const size_t index = (*next)++;
          if (fails && index == 3) return absl::DataLossError("later");
          if (index >= good.size()) return std::nullopt;
          Block block;
          block.labels.emplace_back();
          for (const int64_t position : good[index]) {
            block.order.push_back({static_cast<int32_t>(block.example_ids.size()), position});
            block.example_ids.push_back(position);
            block.labels[0].push_back(0);
          }
          block.bad_positions = bad[index];
          return block;
        });
    std::vector<int64_t> counts;
    while (true) {
      const auto batch = batcher.next();
      if (!batch.ok()) {
        EXPECT_TRUE(fails);
        EXPECT_THAT(batch, StatusIs(absl::StatusCode::kDataLoss, "later"));
        break;
      }
      if (!batch->has_value()) break;
      counts.push_back((*batch)->bad_examples);
    }
    if (fails) {
      EXPECT_THAT(counts, ElementsAre(1, 2)) << "the batches before the error";
    } else {
      EXPECT_THAT(counts, ElementsAre(1, 2, 1));
    }
  }
}

}  // namespace
}  // namespace millrace
