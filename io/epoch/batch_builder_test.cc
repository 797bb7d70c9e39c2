#include "io/epoch/batch_builder.h"

#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

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

}  // namespace
}  // namespace millrace
