// Errors of sharded tables, and steps that look up only some of the announced ids.
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status_matchers.h"
#include "embedding/collection_ranks_testing.h"
#include "embedding/collection_testing.h"
#include "embedding/embedding_collection.h"

namespace millrace::ranks_testing {
namespace {

using testing::AllOf;
using testing::HasSubstr;

JobOptions small_job() {
  JobOptions options;
  options.collection = small_options();
  options.optimizer.mutable_sgd();
  return options;
}

MicroBatch batch_of(const Lists& lists) {
  MicroBatch batch;
  batch.features = jagged(lists);
  return batch;
}

// Features a and b, one example each, of the tables t and u with one column each.
JobOptions two_tables(const std::string& policy = "") {
  JobOptions options;
  options.collection.tables = {table_config("t", 1), table_config("u", 1)};
  options.collection.features = {{"a", "t", SUM}, {"b", "u", SUM}};
  if (policy == "frozen") options.collection.tables[0].set_frozen(true);
  if (policy == "count") {
    options.collection.tables[0].mutable_admission()->mutable_count()->set_min_count(2);
  }
  options.optimizer.mutable_sgd();
  return options;
}

class CollectionRanksErrorsTest : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
  // Returns the batches of all ranks; only the first rank has a batch.
  std::vector<RankBatches> first_has(MicroBatch batch) const {
    std::vector<RankBatches> batches(ranks());
    batches[0].push_back(std::move(batch));
    return batches;
  }
  static bool has_row(const Job& job, int table, int64_t id) {
    return rows_with(job, table, id) > 0;
  }
  static int64_t rows_with(const Job& job, int table, int64_t id) {
    return job.sum(
        [&](EmbeddingTable& table) {
          RowIndex row = kNoRow;
          table.find({&id, 1}, {&row, 1});
          return int64_t{row == kNoRow ? 0 : 1};
        },
        table);
  }
};

TEST_P(CollectionRanksErrorsTest, WhatWasAnnouncedAndNotLookedUpLeavesNothing) {
  for (const char* policy : {"", "count"}) {
    Job job(two_tables(policy), ranks());
    MicroBatch announced = batch_of({{1, 2, 3, 4, 5}, {1}});
    announced.looked_up = false;
    std::vector<RankBatches> batches = first_has(batch_of({{3}, {7}}));
    batches[0].push_back(announced);
    batches[ranks() - 1].push_back(announced);
    ASSERT_OK(job.step(batches).status);
    const auto occurrences = [](EmbeddingTable& table) {
      return table.maintenance().statistics().occurrences;
    };
    EXPECT_EQ(job.sum(occurrences, 0), 1);
    EXPECT_FALSE(has_row(job, 0, 1));
    EXPECT_EQ(has_row(job, 0, 3), std::string(policy) != "count");
    EXPECT_FALSE(has_row(job, 1, 1));
    EXPECT_TRUE(has_row(job, 1, 7));
    const auto candidates = [](EmbeddingTable& table) {
      return table.maintenance().statistics().candidates;
    };
    EXPECT_EQ(job.sum(candidates, 0), std::string(policy) == "count" ? 1 : 0);
  }
}

TEST_P(CollectionRanksErrorsTest, StepsWithoutAnyBatchCount) {
  Job job(small_job(), ranks());
  ASSERT_OK(job.step(std::vector<RankBatches>(ranks())).status);
  MicroBatch announced = batch_of(kLists);
  announced.looked_up = false;
  ASSERT_OK(job.step(first_has(announced)).status);
  for (int rank = 0; rank < ranks(); ++rank) EXPECT_EQ(job.table(rank, 0).applied_steps(), 2);
  EXPECT_EQ(job.digest(0), 0);
}

TEST_P(CollectionRanksErrorsTest, IdsThatWereNotAnnouncedAreErrors) {
  Job job(two_tables(), ranks());
  for (const bool training : {true, false}) {
    ASSERT_OK(job.fetch(first_has(batch_of({{1, 2}, {3}})), training));
    if (!training) job.collection(0).eval();
    const absl::StatusOr<EmbeddingOutput> output =
        job.collection(0).forward(batch_of({{1, 5}, {3}}).features);
    EXPECT_THAT(output.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          AllOf(HasSubstr("feature a"), HasSubstr("id 5"))));
    if (training) {
      // apply() returns the error of a failed lookup.
      EXPECT_FALSE(job.exchange_sums().ok() && job.apply().ok());
      for (int rank = 0; rank < ranks(); ++rank) job.collection(rank).discard();
    }
  }
  job.collection(0).train();
  // Without requests, no id is announced.
  EXPECT_FALSE(job.collection(0).forward(batch_of({{1}, {}}).features).ok());
  job.collection(0).discard();
  ASSERT_OK(job.step(first_has(batch_of({{1}, {}}))).status);
  EXPECT_TRUE(has_row(job, 0, 1));
}

TEST_P(CollectionRanksErrorsTest, RequestsAreCheckedAsLookups) {
  Job job(two_tables(), ranks());
  job.exchange(0).begin(true);
  KeyedJagged features = batch_of({{1}, {2}}).features;
  features.values = features.values.to(torch::kFloat);
  EXPECT_THAT(job.exchange(0).request(features), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(CollectionRanksErrorsTest, TrainingNeedsRequestsOfTraining) {
  Job job(two_tables(), ranks());
  const MicroBatch batch = batch_of({{1}, {2}});
  ASSERT_OK(job.fetch(first_has(batch), /*training=*/false));
  EXPECT_THAT(job.collection(0).forward(batch.features).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_P(CollectionRanksErrorsTest, RowsOfOtherRanksMustHaveCome) {
  if (ranks() == 1) return;
  Job job(two_tables(), ranks());
  const MicroBatch batch = batch_of({{1, 2, 3, 4, 5, 6, 7}, {}});
  job.exchange(0).begin(true);
  ASSERT_OK(job.exchange(0).request(batch.features));
  EXPECT_THAT(job.collection(0).forward(batch.features).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(CollectionRanksErrorsTest, ModelsMayLookUpTwice) {
  Job job(two_tables(), ranks()), expected(two_tables(), 0);
  MicroBatch batch = batch_of({{1, 2, 1}, {3}});
  batch.gradients = {torch::tensor({{0.5f, 4.0f}})};
  ASSERT_OK(job.fetch(first_has(batch), true));
  std::vector<std::vector<at::Tensor>> outputs;
  std::vector<RankBatches> twice(ranks());
  twice[0] = {batch, batch};
  ASSERT_OK(job.look_up(twice, outputs));
  ASSERT_OK(job.exchange_sums());
  ASSERT_OK(job.apply());
  ASSERT_OK(expected.step({{batch, batch}}).status);
  expect_same_tables(job, expected, "");
}

TEST_P(CollectionRanksErrorsTest, FrozenTablesAreOnlyRead) {
  JobOptions options = two_tables("frozen");
  options.rows = {{1, 2, 3}};
  Job job(options, ranks()), expected(options, 0);
  const absl::uint128 digest = job.digest(0);
  MicroBatch batch = batch_of({{1, 2, 9}, {3}});
  batch.gradients = {torch::tensor({{0.5f, 4.0f}})};
  const StepResult ranked = job.step(first_has(batch)), fused = expected.step({{batch}});
  ASSERT_OK(ranked.status);
  expect_same(ranked.outputs[0], fused.outputs[0]);
  EXPECT_EQ(job.digest(0), digest);
  // Gradients of frozen tables must also be finite.
  batch.gradients = {torch::tensor({{std::numeric_limits<float>::quiet_NaN(), 4.0f}})};
  const StepResult refused = job.step(first_has(batch));
  EXPECT_FALSE(refused.summary.finite);
  EXPECT_THAT(refused.summary.not_finite, HasSubstr("table t"));
}

TEST_P(CollectionRanksErrorsTest, GradientsOfIdsThatAreNotAdmittedMustBeFinite) {
  Job job(two_tables("count"), ranks());
  MicroBatch batch = batch_of({{1}, {3}});
  batch.gradients = {torch::tensor({{std::numeric_limits<float>::infinity(), 4.0f}})};
  const StepResult refused = job.step(first_has(batch));
  EXPECT_FALSE(refused.summary.finite);
  EXPECT_THAT(refused.summary.not_finite, HasSubstr("table t"));
  for (int t = 0; t < 2; ++t) EXPECT_EQ(job.digest(t), 0);
  batch.gradients = {torch::tensor({{1.0f, 4.0f}})};
  ASSERT_OK(job.step(first_has(batch)).status);
  ASSERT_OK(job.step(first_has(batch)).status);
  EXPECT_TRUE(has_row(job, 0, 1));
}

// Until apply(), a step changes no table. Tables can be read during the step, but refuse changes,
// since the step refers to rows.
TEST_P(CollectionRanksErrorsTest, ARefusedStepLeavesTablesAsTheyWere) {
  JobOptions options = two_tables();
  options.collection.tables[0].mutable_eviction()->set_idle_steps(1);
  Job job(options, ranks());
  MicroBatch batch = batch_of({{1, 2, 3}, {4, 5}});
  std::vector<std::vector<at::Tensor>> outputs;
  const auto each_table = [&](const std::function<void(EmbeddingTable&)>& body) {
    for (int rank = 0; rank < ranks(); ++rank) {
      for (int t = 0; t < 2; ++t) body(job.table(rank, t));
    }
  };
  const auto evict = [](EmbeddingTable& table) {
    return table.maintenance().evict({.step = 5}).status();
  };
  const auto load = [](EmbeddingTable& table) {
    TableRows none;
    none.dim = table.dim();
    return table.content().load_rows(none);
  };
  const auto expect_open = [&](EmbeddingTable& table) {
    EXPECT_EQ(table.maintenance().statistics().rows, 0);
    EXPECT_EQ(table.content().export_rows().ids.size(), 0u);
    EXPECT_TRUE(table.in_step());
    for (const absl::Status& refused : {evict(table), load(table)}) {
      EXPECT_THAT(refused,
                  StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("inside a step")));
    }
  };
  const auto expect_closed = [&](EmbeddingTable& table) {
    EXPECT_FALSE(table.in_step());
    EXPECT_OK(evict(table));
    EXPECT_OK(load(table));
  };
  ASSERT_OK(job.fetch(first_has(batch), true));
  each_table(expect_open);
  for (int tries = 0; tries < 2; ++tries) {
    for (int rank = 0; rank < ranks(); ++rank) job.exchange(rank).repeat();
    ASSERT_OK(job.look_up(first_has(batch), outputs));
    ASSERT_OK(job.exchange_sums());
    each_table(expect_open);
    for (int rank = 0; rank < ranks(); ++rank) job.collection(rank).discard();
    each_table(expect_closed);
  }
  ASSERT_OK(job.step(first_has(batch)).status);
  for (const int64_t id : {1, 2, 3}) EXPECT_TRUE(has_row(job, 0, id));
  each_table(expect_closed);
}

TEST_P(CollectionRanksErrorsTest, RowsStayWhereTheyAreOnceThereAreSome) {
  Job job(two_tables(), ranks());
  ASSERT_OK(job.step(first_has(batch_of({{1}, {2}}))).status);
  for (int rank = 0; rank < ranks(); ++rank) {
    EXPECT_OK(job.collection(rank).shard({rank, ranks()}));
  }
  const int owner = Placement::owner(1, ranks());
  EXPECT_THAT(job.collection(owner).shard({0, ranks() + 1}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(CollectionShardTest, ManyRanksHaveEvenSharesUnlessATableHasASketch) {
  for (const int world_size : {kMostCoarseRanks, kMostCoarseRanks + 1}) {
    for (const bool sketch : {false, true}) {
      EmbeddingCollectionOptions options = two_tables().collection;
      if (sketch) {
        CountAdmission& count = *options.tables[1].mutable_admission()->mutable_count();
        count.set_min_count(2);
        count.mutable_sketch()->set_capacity(100);
      }
      ASSERT_OK_AND_ASSIGN(const auto collection, EmbeddingCollection::create(options));
      ASSERT_OK(collection->shard({0, world_size}));
      const bool fine = world_size > kMostCoarseRanks && !sketch;
      EXPECT_EQ(collection->exchange().placement(), (Placement{0, world_size, fine}));
      EXPECT_EQ(collection->tables()[0]->placement(), (Placement{0, world_size, fine}));
    }
  }
}

TEST_P(CollectionRanksErrorsTest, UpdatesNeedTheTotalsOfAllRanks) {
  Job job(two_tables(), ranks());
  ASSERT_OK(job.fetch(first_has(batch_of({{1}, {2}})), true));
  EXPECT_THAT(job.apply(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

INSTANTIATE_TEST_SUITE_P(Ranks, CollectionRanksErrorsTest, testing::Values(1, 2, 3));

// ---- Frames ----

// Two ranks, the first with a batch, and all frames of one step.
class DamagedFramesTest : public testing::Test {
 protected:
  DamagedFramesTest() {
    options_ = small_job();
    options_.collection.tables[1].mutable_admission()->mutable_count()->set_min_count(2);
    batch_.features = jagged(kLists);
    batch_.gradients = {torch::ones({2, 8}), torch::ones({4, 3})};
    for (int rank = 0; rank < 2; ++rank) {
      jobs_.push_back(*EmbeddingCollection::create(options_.collection));
      EXPECT_OK(jobs_[rank]->shard({rank, 2}));
    }
    begin();
    first().exchange().write_ids(1, ids_);
    absl::string_view ids = ids_.view();
    EXPECT_OK(second().exchange().read_rows(0, ids, rows_));
    absl::string_view rows = rows_.view();
    EXPECT_OK(first().exchange().receive_rows(1, rows));
    absl::StatusOr<EmbeddingOutput> output = first().forward(batch_.features);
    EXPECT_OK(output);
    (output->pooled.sum() + output->jagged("c")->rows.sum()).backward();
    first().exchange().write_sums(1, sums_);
    absl::string_view sums = sums_.view();
    EXPECT_OK(second().exchange().receive_sums(0, sums));
  }
  EmbeddingCollection& first() { return *jobs_[0]; }
  EmbeddingCollection& second() { return *jobs_[1]; }
  void begin() {
    for (auto& job : jobs_) job->exchange().begin(true);
    EXPECT_OK(first().exchange().request(batch_.features));
  }

  // Each function begins a new step and reads one frame. Damage must have no consequence except an
  // error.
  absl::Status read_ids(const std::string& bytes) {
    begin();
    absl::string_view ids = bytes;
    ByteBuffer rows;
    rows.append("before");
    const absl::Status status = second().exchange().read_rows(0, ids, rows);
    if (!status.ok()) {
      EXPECT_EQ(rows.view(), "before");
    }
    return status;
  }
  absl::Status read_rows(const std::string& bytes) {
    begin();
    absl::string_view rows = bytes;
    absl::Status status = first().exchange().receive_rows(1, rows);
    if (status.ok()) {
      EXPECT_OK(first().forward(batch_.features));
    }
    return status;
  }
  absl::Status read_sums(const std::string& bytes) {
    begin();
    absl::string_view ids = ids_.view();
    ByteBuffer rows;
    EXPECT_OK(second().exchange().read_rows(0, ids, rows));
    absl::string_view sums = bytes;
    const absl::Status status = second().exchange().receive_sums(0, sums);
    if (status.ok()) second().exchange().owned_totals(true);
    return status;
  }
  using Read = absl::Status (DamagedFramesTest::*)(const std::string&);
  struct Frame {
    std::string bytes;
    Read read;
  };
  std::vector<Frame> frames() const {
    return {{std::string(ids_.view()), &DamagedFramesTest::read_ids},
            {std::string(rows_.view()), &DamagedFramesTest::read_rows},
            {std::string(sums_.view()), &DamagedFramesTest::read_sums}};
  }

  JobOptions options_;
  MicroBatch batch_;
  std::vector<std::shared_ptr<EmbeddingCollection>> jobs_;
  ByteBuffer ids_, rows_, sums_;
};

TEST_F(DamagedFramesTest, WholeFramesAreRead) {
  for (const Frame& frame : frames()) {
    EXPECT_OK((this->*frame.read)(frame.bytes));
    EXPECT_EQ(frame.bytes.size() % 8, 0u);
  }
}

TEST_F(DamagedFramesTest, EveryShorterFrameIsAnError) {
  for (const Frame& frame : frames()) {
    for (size_t size = 0; size < frame.bytes.size(); ++size) {
      // A copy of exactly `size` bytes lets sanitizers detect reads after the end.
      const std::string bytes(frame.bytes.substr(0, size));
      EXPECT_THAT((this->*frame.read)(bytes), StatusIs(absl::StatusCode::kDataLoss)) << size;
    }
  }
}

TEST_F(DamagedFramesTest, ChangedBytesNeverCrash) {
  std::mt19937_64 random(3);
  for (const Frame& frame : frames()) {
    for (int trial = 0; trial < 2000; ++trial) {
      std::string bytes = frame.bytes;
      const int changes = 1 + static_cast<int>(random() % 3);
      for (int i = 0; i < changes; ++i) {
        bytes[random() % bytes.size()] = static_cast<char>(trial % 3 == 0 ? 0xff : random());
      }
      const absl::Status status = (this->*frame.read)(bytes);
      EXPECT_THAT(status.code(),
                  testing::AnyOf(absl::StatusCode::kOk, absl::StatusCode::kDataLoss));
    }
    // Flips every bit of every frame.
    for (size_t at = 0; at < frame.bytes.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string bytes = frame.bytes;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
        const absl::Status status = (this->*frame.read)(bytes);
        if (at >= 24) continue;  // a changed number may be valid
        EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss)) << at;
      }
    }
  }
}

TEST_F(DamagedFramesTest, FramesOfOtherTablesAreErrorsThatSaySo) {
  JobOptions other = options_;
  other.collection.tables[1].set_dim(4);
  const std::shared_ptr<EmbeddingCollection> collection =
      *EmbeddingCollection::create(other.collection);
  ASSERT_OK(collection->shard({1, 2}));
  collection->exchange().begin(true);
  absl::string_view ids = ids_.view();
  ByteBuffer rows;
  EXPECT_THAT(collection->exchange().read_rows(0, ids, rows),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("ids of rank 0"), HasSubstr("another set of tables"))));
}

TEST_F(DamagedFramesTest, FramesInTheWrongOrderAreErrors) {
  for (const Frame& frame : frames()) {
    for (const Frame& other : frames()) {
      if (other.bytes == frame.bytes) continue;
      EXPECT_THAT((this->*frame.read)(other.bytes), StatusIs(absl::StatusCode::kDataLoss));
    }
  }
}

TEST_F(DamagedFramesTest, IdsOfAnotherRankAreErrors) {
  // A frame for the second rank, read by a rank that owns none of the ids.
  const std::shared_ptr<EmbeddingCollection> zero =
      *EmbeddingCollection::create(options_.collection);
  ASSERT_OK(zero->shard({0, 2}));
  zero->exchange().begin(true);
  absl::string_view ids = ids_.view();
  ByteBuffer rows;
  EXPECT_THAT(zero->exchange().read_rows(1, ids, rows),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is one of rank 1")));
}

}  // namespace
}  // namespace millrace::ranks_testing
