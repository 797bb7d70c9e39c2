#include "embedding/table/table_snapshot.h"

#include <google/protobuf/text_format.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/step_plan.h"
#include "optim/rows/row_optimizer_registry.h"

namespace millrace {
namespace {

constexpr int64_t kPlenty = int64_t{1} << 30;

// The content of a table in a checkpoint, as bytes.
struct Content {
  std::vector<int64_t> ids;
  std::vector<char> records;
  std::vector<uint32_t> metas;
  absl::uint128 digest = 0;
  int64_t applied_steps = 0;
  AdmissionState admission;
  EvictedLogState evicted;
  std::vector<int64_t> gone;  // from the beginning of the log

  friend bool operator==(const Content&, const Content&) = default;
};

Content read(const TableSnapshot& snapshot, int threads = 1) {
  ThreadPool pool(threads);
  Content content;
  const RowSnapshot& rows = snapshot.rows();
  content.digest = rows.content_digest(pool);
  const std::vector<RowIndex> order = rows.in_placement_order(pool);
  for (const RowIndex row : order) {
    content.ids.push_back(rows.id(row));
    const int64_t bytes = rows.layout().content_bytes(), half = bytes / 2;
    const size_t at = content.records.size();
    content.records.resize(at + bytes);
    rows.copy(row, 0, half, content.records.data() + at);
    rows.copy(row, half, bytes - half, content.records.data() + at + half);
    content.metas.push_back(rows.meta(row).frequency);
    content.metas.push_back(rows.meta(row).last_step);
  }
  content.applied_steps = snapshot.applied_steps();
  content.admission = snapshot.admission_state();
  content.evicted = snapshot.evicted_log();
  content.gone = *snapshot.evicted_since(0, order);
  return content;
}

// A table with steps that depend only on the number of the step.
class Training {
 public:
  Training(const std::string& table, const std::string& optimizer) : plan_(nullptr) {
    TableConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(table, &config)) << table;
    config.set_name("items");
    SparseOptimizerConfig row_optimizer;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(optimizer, &row_optimizer));
    table_ = *EmbeddingTable::create(EmbeddingTableOptions::from_config(config, 7));
    optimizer_ = *create_row_optimizer(row_optimizer);
    EXPECT_OK(table_->bind(optimizer_->slots(table_->dim())));
    plan_ = std::make_unique<StepPlan>(*table_);
  }

  EmbeddingTable& table() { return *table_; }
  int64_t steps() const { return step_; }

  // Discards a first try of every fifth step. Some ids occur in every step, others rarely.
  void step() {
    ++step_;
    if (step_ % 5 == 0) {
      look_up(step_ + 1000000);
      plan_->discard();
    }
    look_up(step_);
    UpdateContext context;
    context.learning_rate = 0.1;
    context.step = table_->applied_steps() + 1;
    plan_->apply(*optimizer_, context, step_);
    EXPECT_OK(table_->maintenance().evict({.step = step_}).status());
  }

 private:
  static constexpr int64_t kIds = 200;

  void look_up(int64_t number) {
    ids_.clear();
    offsets_ = {0};
    for (int64_t i = 0; i < kIds; ++i) {
      const uint64_t bits = philox64(3, static_cast<uint64_t>(number), static_cast<uint64_t>(i));
      const uint64_t range = i % 3 == 0 ? 50 : i % 3 == 1 ? 2000 : 1000000;
      ids_.push_back(static_cast<int64_t>(bits % range));
      offsets_.push_back(i + 1);
    }
    output_.resize(kIds * table_->dim());
    ASSERT_OK(plan_->look_up({ids_, offsets_, {}, SUM}, {output_.data(), table_->dim()}));
    gradient_.resize(output_.size());
    for (size_t i = 0; i < gradient_.size(); ++i) {
      gradient_[i] = 0.01f * static_cast<float>((number * 31 + static_cast<int64_t>(i)) % 17 - 8);
    }
    plan_->set_gradient(0, gradient_.data(), table_->dim());
  }

  std::unique_ptr<EmbeddingTable> table_;
  std::unique_ptr<RowOptimizer> optimizer_;
  std::unique_ptr<StepPlan> plan_;
  int64_t step_ = 0;
  std::vector<int64_t> ids_, offsets_;
  std::vector<float> output_, gradient_;
};

class TableSnapshotTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  Training make() const { return Training(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

// A snapshot that is read after steps has the content from before them, and the steps have the same
// results as without a snapshot.
TEST_P(TableSnapshotTest, IsTheTableAsItWasAndChangesNothing) {
  Training training = make(), without = make();
  for (int i = 0; i < 20; ++i) training.step(), without.step();
  for (int round = 0; round < 6; ++round) {
    const Content before = read(*training.table().content().view());
    const auto snapshot = training.table().content().freeze(std::make_shared<UndoBudget>(kPlenty));
    EXPECT_EQ(read(*snapshot, 2), before);
    for (int i = 0; i < 1 << round; ++i) {
      training.step(), without.step();
      if (i < 4) {
        ASSERT_EQ(read(*snapshot), before) << "round " << round << ", step " << i;
      }
    }
    EXPECT_EQ(read(*snapshot, 2), before) << round;
    EXPECT_TRUE(training.table().content().rows().frozen());
    snapshot->finish();
    training.step(), without.step();
    EXPECT_FALSE(training.table().content().rows().frozen());
    EXPECT_EQ(read(*training.table().content().view()), read(*without.table().content().view()))
        << round;
  }
}

TEST_P(TableSnapshotTest, IsReadWhileStepsAreDone) {
  Training training = make(), without = make();
  for (int i = 0; i < 10; ++i) training.step();
  for (int round = 0; round < 3; ++round) {
    const Content before = read(*training.table().content().view());
    const auto snapshot = training.table().content().freeze(std::make_shared<UndoBudget>(kPlenty));
    std::atomic<int> reading{2};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
      readers.emplace_back([&] {
        for (int again = 0; again < 4; ++again) EXPECT_EQ(read(*snapshot), before);
        if (--reading == 0) snapshot->finish();
      });
    }
    for (int i = 0; i < 10 || reading.load() > 0; ++i) training.step();
    for (std::thread& reader : readers) reader.join();
    training.step();
    EXPECT_FALSE(training.table().content().rows().frozen());
  }
  while (without.steps() < training.steps()) without.step();
  EXPECT_EQ(read(*training.table().content().view()), read(*without.table().content().view()));
}

TEST_P(TableSnapshotTest, OutlivesWhatItWasTakenOf) {
  Training training = make();
  for (int i = 0; i < 10; ++i) training.step();
  const Content before = read(*training.table().content().view());
  const auto snapshot = training.table().content().freeze(std::make_shared<UndoBudget>(kPlenty));
  training.step();
  const std::unique_ptr<EmbeddingTable> other = training.table().make_empty();
  training.table().content().swap(other->content());
  EXPECT_FALSE(training.table().content().rows().frozen());
  EXPECT_TRUE(other->content().rows().frozen());
  TableRows rows = other->content().export_rows();
  for (float& weight : rows.weights) weight += 1;
  ASSERT_OK(other->content().load_rows(rows));
  ASSERT_OK(training.table().content().load_rows(rows));
  other->content().drop_rows(absl::MakeSpan(rows.ids).first(rows.ids.size() / 2));
  EXPECT_EQ(read(*snapshot), before);
  other->content().reset();
  training.step();
  EXPECT_EQ(read(*snapshot), before);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, TableSnapshotTest,
    testing::Combine(testing::Values("dim: 16", "dim: 5 row_dtype: FLOAT16",
                                     "dim: 8 row_dtype: BFLOAT16 eviction { idle_steps: 3 }",
                                     "dim: 7 admission { count { min_count: 2 } } "
                                     "limit { max_rows: 300 on_full: EVICT_LRU evict_to: 0.3 }",
                                     "dim: 4 admission { count { min_count: 2 sketch { capacity: "
                                     "1000 error_probability: 0.01 } } } "
                                     "limit { max_rows: 200 on_full: EVICT_LFU }"),
                     testing::Values("adam {}", "sgd {}", "rowwise_adagrad {}")));

TEST(TableSnapshotTest, IdsThatWentAndCameBackAreNotGone) {
  Training training("dim: 2 eviction { idle_steps: 2 }", "sgd {}");
  for (int i = 0; i < 30; ++i) training.step();
  const std::unique_ptr<TableSnapshot> view = training.table().content().view();
  ThreadPool threads(1);
  const std::vector<RowIndex> order = view->rows().in_placement_order(threads);
  for (const int64_t step : {0, 10, 29, 31}) {
    EXPECT_EQ(*view->evicted_since(step, order), *training.table().content().evicted_since(step));
  }
  EXPECT_FALSE(view->evicted_since(0, order)->empty());
}

TEST(TableSnapshotTest, SaysWhatIsNotKnownAnyMore) {
  Training training("dim: 2", "sgd {}");
  training.step();
  training.table().content().restart_evicted_log(5);
  const std::unique_ptr<TableSnapshot> view = training.table().content().view();
  EXPECT_EQ(view->evicted_log_begins(), 5);
  EXPECT_THAT(view->evicted_since(4, {}).status(),
              StatusIs(absl::StatusCode::kOutOfRange, testing::HasSubstr("items")));
}

}  // namespace
}  // namespace millrace
