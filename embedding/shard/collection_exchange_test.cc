#include "embedding/shard/collection_exchange.h"

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "embedding/shard/shard_plans.h"
#include "embedding/table/pooler.h"
#include "embedding/table/pooling.h"
#include "optim/rows/sparse_sgd.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<int64_t>;

// Two ranks with the table t of two columns and the table u of 16-bit rows. Table u admits ids at
// their second occurrence. The first rank requests ids of both tables.
class CollectionExchangeTest : public testing::Test {
 protected:
  CollectionExchangeTest() {
    for (int rank = 0; rank < 2; ++rank) {
      EmbeddingTableOptions options;
      options.name = "t";
      options.dim = 2;
      options.placement = {rank, 2};
      options.initializer.mutable_constant()->set_value(1);
      tables_.push_back(*EmbeddingTable::create(options));
      options.name = "u";
      options.dim = 3;
      options.type = RowType::kFloat16;
      options.admission.mutable_count()->set_min_count(2);
      options.default_value.mutable_constant()->set_value(4);
      tables_.push_back(*EmbeddingTable::create(options));
      plans_.push_back(std::make_unique<ShardPlans>(std::vector<ShardPlans::Table>{
          {tables_[2 * rank].get()}, {tables_[2 * rank + 1].get()}}));
      plans_[rank]->shard({rank, 2});
      CollectionExchange::Collection collection;
      collection.for_each_table = [](int64_t, const std::function<void(int64_t)>& body) {
        body(0);
        body(1);
      };
      collection.gradients_are_finite = [](int64_t) { return true; };
      collection.discard = [plans = plans_[rank].get()] { plans->discard(); };
      ranks_.push_back(std::make_unique<CollectionExchange>(*plans_[rank], std::move(collection)));
    }
    for (int64_t id = 0; id < 70; ++id) ids_.push_back(id * 7 - 20);
  }
  void begin(bool training = true) {
    for (auto& rank : ranks_) rank->begin(training);
    plans_[0]->request(0, ids_);
    plans_[0]->request(1, Ids(ids_.begin(), ids_.begin() + 9));
  }
  // Each row of the output is a row of the table.
  static IdLists lists_of(const Ids& ids) {
    static const int64_t offsets[] = {0, 0};
    IdLists lists;
    lists.ids = ids;
    lists.offsets = offsets;
    lists.pooling = NONE;
    return lists;
  }
  std::vector<float> look_up(int table, const Ids& ids) {
    const int64_t dim = tables_[table]->dim();
    std::vector<float> output(ids.size() * dim);
    EXPECT_OK(plans_[0]->requests(table).look_up(lists_of(ids), {output.data(), dim}));
    return output;
  }
  // Exchanges the frames of the first rank's step; `gradients_` has the gradients of all its ids.
  void exchange() {
    for (ByteBuffer* frame : {&id_frame_, &row_frame_, &sum_frame_}) frame->clear();
    ranks_[0]->write_ids(1, id_frame_);
    absl::string_view bytes = id_frame_.view();
    ASSERT_OK(ranks_[1]->read_rows(0, bytes, row_frame_));
    EXPECT_TRUE(bytes.empty());
    bytes = row_frame_.view();
    ASSERT_OK(ranks_[0]->receive_rows(1, bytes));
    EXPECT_TRUE(bytes.empty());
    EXPECT_EQ(look_up(0, ids_), std::vector<float>(2 * ids_.size(), 1));
    gradients_.assign(2 * ids_.size(), 0.5f);
    plans_[0]->requests(0).lookups().set_gradient(0, gradients_.data(), 2);
    ranks_[0]->write_sums(1, sum_frame_);
    bytes = sum_frame_.view();
    ASSERT_OK(ranks_[1]->receive_sums(0, bytes));
    EXPECT_TRUE(bytes.empty());
  }
  int64_t rows(int rank, int table) const {
    return tables_[2 * rank + table]->maintenance().statistics().rows;
  }

  Ids ids_;
  std::vector<std::unique_ptr<EmbeddingTable>> tables_;  // of the first rank, then of the second
  std::vector<std::unique_ptr<ShardPlans>> plans_;       // by rank
  std::vector<std::unique_ptr<CollectionExchange>> ranks_;
  std::vector<float> gradients_;
  ByteBuffer id_frame_, row_frame_, sum_frame_;
};

TEST_F(CollectionExchangeTest, RowsAppearAtTheirOwnersInTheUpdate) {
  begin();
  exchange();
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(rows(rank, 0), 0);
    for (int t = 0; t < 2; ++t) {
      plans_[rank]->take_own_sums(t);
      EXPECT_TRUE(plans_[rank]->owner(t).add_up());
      UpdateContext context;
      context.learning_rate = 1;
      plans_[rank]->owner(t).apply(SparseSgdOptimizer(), context, 1);
    }
  }
  EXPECT_EQ(rows(0, 0) + rows(1, 0), 70);
  EXPECT_GT(rows(0, 0), 20);
  EXPECT_GT(rows(1, 0), 20);
  begin(/*training=*/false);
  absl::string_view bytes = id_frame_.view();
  row_frame_.clear();
  ASSERT_OK(ranks_[1]->read_rows(0, bytes, row_frame_));
  bytes = row_frame_.view();
  ASSERT_OK(ranks_[0]->receive_rows(1, bytes));
  std::vector<float> output(2 * ids_.size());
  ASSERT_OK(plans_[0]->requests(0).look_up_read_only(lists_of(ids_), {output.data(), 2}));
  EXPECT_EQ(output, std::vector<float>(2 * ids_.size(), 0.5f));
}

TEST_F(CollectionExchangeTest, IdsThatAreNotAdmittedReadTheDefault) {
  begin();
  exchange();
  EXPECT_EQ(look_up(1, {ids_[0], ids_[8]}), std::vector<float>(6, 4));
}

TEST_F(CollectionExchangeTest, FramesAreReadAtAnyAddress) {
  begin();
  exchange();
  for (size_t offset = 1; offset < 8; ++offset) {
    begin();
    ByteBuffer frame, rows;
    rows.resize(offset);
    absl::string_view bytes = id_frame_.view();
    ASSERT_OK(ranks_[1]->read_rows(0, bytes, rows));
    bytes = rows.view().substr(offset);
    ASSERT_OK(ranks_[0]->receive_rows(1, bytes));
    EXPECT_EQ(look_up(0, ids_), std::vector<float>(2 * ids_.size(), 1));
    plans_[0]->requests(0).lookups().set_gradient(0, gradients_.data(), 2);
    frame.resize(offset);
    ranks_[0]->write_sums(1, frame);
    EXPECT_EQ(frame.view().substr(offset), sum_frame_.view());
    bytes = frame.view().substr(offset);
    ASSERT_OK(ranks_[1]->receive_sums(0, bytes));
    for (int t = 0; t < 2; ++t) plans_[1]->take_own_sums(t);
    EXPECT_TRUE(plans_[1]->owner(0).add_up());
    EXPECT_EQ(plans_[1]->owner(0).squared_norm(),
              0.5 * static_cast<double>(plans_[1]->owner(0).new_rows()));
  }
}

// Damaged content of a frame may give other numbers, but reads nothing outside the frame. Memory of
// exactly the frame's size lets sanitizers detect such reads.
TEST_F(CollectionExchangeTest, DamagedFramesAreErrorsOrOtherNumbers) {
  begin();
  exchange();
  const std::string frames[] = {std::string(id_frame_.view()), std::string(row_frame_.view()),
                                std::string(sum_frame_.view())};
  const auto read = [&](int kind, const std::string& frame) {
    begin();
    const std::vector<char> memory(frame.begin(), frame.end());
    absl::string_view bytes(memory.data(), memory.size());
    ByteBuffer rows;
    if (kind == 0) return ranks_[1]->read_rows(0, bytes, rows);
    if (kind == 1) {
      absl::Status status = ranks_[0]->receive_rows(1, bytes);
      if (status.ok()) look_up(0, ids_);
      return status;
    }
    absl::string_view ids = id_frame_.view();
    EXPECT_OK(ranks_[1]->read_rows(0, ids, rows));
    absl::Status status = ranks_[1]->receive_sums(0, bytes);
    if (status.ok()) {
      for (int t = 0; t < 2; ++t) {
        plans_[1]->take_own_sums(t);
        plans_[1]->owner(t).add_up();
      }
    }
    return status;
  };
  std::mt19937_64 random(9);
  for (int kind = 0; kind < 3; ++kind) {
    EXPECT_OK(read(kind, frames[kind]));
    for (size_t size = 0; size < frames[kind].size(); ++size) {
      EXPECT_THAT(read(kind, frames[kind].substr(0, size)),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("of rank ")));
    }
    for (int trial = 0; trial < 3000; ++trial) {
      std::string frame = frames[kind];
      for (uint64_t i = 0; i <= random() % 3; ++i) {
        // Mostly numbers of ids and bits, which are at the front of a table.
        const size_t at = trial % 2 == 0 ? random() % frame.size() : 16 + random() % 32;
        frame[at] = static_cast<char>(trial % 5 == 0 ? 0xff : random());
      }
      EXPECT_THAT(read(kind, frame).code(),
                  testing::AnyOf(absl::StatusCode::kOk, absl::StatusCode::kDataLoss));
    }
    for (int other = 0; other < 3; ++other) {
      if (other == kind) continue;
      EXPECT_THAT(read(kind, frames[other]), StatusIs(absl::StatusCode::kDataLoss));
    }
  }
}

TEST_F(CollectionExchangeTest, OccurrencesAndGradientsOfRanksAddUp) {
  // An id of the second rank that both ranks request.
  const int64_t id = [] {
    int64_t id = 0;
    while (Placement::owner(id, 2) != 1) ++id;
    return id;
  }();
  for (int rank = 0; rank < 2; ++rank) {
    ranks_[rank]->begin(true);
    plans_[rank]->request(0, {id, id});
  }
  ByteBuffer ids, rows, sums;
  ranks_[0]->write_ids(1, ids);
  absl::string_view bytes = ids.view();
  ASSERT_OK(ranks_[1]->read_rows(0, bytes, rows));
  bytes = rows.view();
  ASSERT_OK(ranks_[0]->receive_rows(1, bytes));
  const float gradient[] = {1, 2, 4, 8};
  for (auto& rank : plans_) {
    std::vector<float> output(4);
    ASSERT_OK(rank->requests(0).look_up(lists_of({id, id}), {output.data(), 2}));
    rank->requests(0).lookups().set_gradient(0, gradient, 2);
  }
  ranks_[0]->write_sums(1, sums);
  bytes = sums.view();
  ASSERT_OK(ranks_[1]->receive_sums(0, bytes));
  OwnerPlan& owner = plans_[1]->owner(0);
  owner.set_mean_gradients(true);
  const ShardTotals totals = ranks_[1]->owned_totals(/*with_norm=*/true);
  EXPECT_TRUE(totals.finite());
  EXPECT_THAT(totals.new_rows, ElementsAre(1, 0));
  EXPECT_EQ(totals.squared_norm, 2.5 * 2.5 + 5 * 5);
  UpdateContext context;
  context.learning_rate = 1;
  owner.apply(SparseSgdOptimizer(), context, 3);
  EmbeddingTable& table = *tables_[2];
  RowIndex row = kNoRow;
  table.find({&id, 1}, {&row, 1});
  ASSERT_NE(row, kNoRow);
  EXPECT_EQ(table.content().rows().frequency(row), 4u);
  EXPECT_EQ(table.content().rows().last_step(row), 3u);
  EXPECT_THAT(std::vector<float>(table.content().rows().weights(row),
                                 table.content().rows().weights(row) + 2),
              ElementsAre(1 - 2.5, 1 - 5));
}

}  // namespace
}  // namespace millrace
