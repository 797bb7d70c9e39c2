#include "hooks/evict_rows_hook.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "hook/hook_registry.h"
#include "proto/evict_rows_state.pb.h"
#include "proto/hook_configs.pb.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr Cadence kOften = {.every_steps = 1, .every_windows = 1};

TableConfig table_config(const std::string& text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// Returns a collection with one feature per table.
std::shared_ptr<EmbeddingCollection> collection_of(const std::vector<std::string>& tables) {
  EmbeddingCollectionOptions options;
  for (size_t i = 0; i < tables.size(); ++i) {
    const std::string name = absl::StrCat("t", i);
    options.tables.push_back(table_config(tables[i]));
    options.tables[i].set_name(name);
    options.features.push_back({name, name, SUM});
  }
  absl::StatusOr<std::shared_ptr<EmbeddingCollection>> collection =
      EmbeddingCollection::create(options);
  EXPECT_OK(collection);
  return *std::move(collection);
}

class EvictRowsHookTest : public testing::Test {
 protected:
  void make(const std::vector<std::string>& tables) {
    collection_ = collection_of(tables);
    hook_ = std::make_unique<EvictRowsHook>(kOften, collections());
  }
  std::vector<EmbeddingCollection*> collections() { return {collection_.get()}; }
  EmbeddingTable& table(int i) { return *collection_->tables()[i]; }

  // Runs a step in which every table has the id, and the hook's event after the step.
  void step(int64_t id, absl::Duration took = absl::Seconds(1)) {
    ++context_.at.step;
    context_.at.elapsed += took;
    for (const auto& table : collection_->tables()) {
      RowIndex row = 0;
      ASSERT_OK(table->find_or_insert({&id, 1}, {&row, 1}));
      table->record_occurrences(context_.at.step, {&row, 1}, {{1}});
      table->commit(context_.at.step);
    }
    StepResult result;
    result.applied = true;
    ASSERT_OK(hook_->after_step(context_, result));
    context_.served = context_.at;
  }
  void end_window() {
    ++context_.at.window;
    ASSERT_OK(hook_->after_window(context_, {}));
    context_.served = context_.at;
  }
  std::vector<int64_t> ids(int i) { return table(i).content().export_rows().ids; }

  std::shared_ptr<EmbeddingCollection> collection_;
  std::unique_ptr<Hook> hook_;
  FakeHookContext context_;
};

// Tables of the test, since the hook has no part in the tables of the suite's trainers.
std::unique_ptr<Hook> evicting() {
  static const std::shared_ptr<EmbeddingCollection> collection =
      collection_of({"eviction { idle_seconds: 1e-4 }", "eviction { idle_seconds: 100 }",
                     "eviction { idle_steps: 1 }", ""});
  return std::make_unique<EvictRowsHook>(kOften,
                                         std::vector<EmbeddingCollection*>{collection.get()});
}

[[maybe_unused]] const bool kEvictRowsHook =
    register_hook_conformance("EvictRowsHook", {.make = evicting, .changes_result = true});

TEST_F(EvictRowsHookTest, EachTableByItsOwnRules) {
  make({"eviction { idle_steps: 1 }", "", "eviction { idle_seconds: 2.5 }"});
  ASSERT_OK(hook_->start(context_));
  for (int64_t id = 1; id <= 5; ++id) step(id);
  EXPECT_THAT(ids(0), UnorderedElementsAre(4, 5));
  EXPECT_THAT(ids(1), UnorderedElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(ids(2), UnorderedElementsAre(3, 4, 5));  // seen at 3 s, 2 s ago
  step(6, absl::Seconds(60));
  EXPECT_THAT(ids(2), ElementsAre(6));
  EXPECT_EQ(
      table(2).maintenance().statistics().evicted[static_cast<int>(EvictionReason::kIdleSeconds)],
      5);
}

TEST_F(EvictRowsHookTest, IdleWindows) {
  make({"eviction { idle_windows: 1 }", "eviction { idle_windows: 2 }"});
  EXPECT_THAT(hook_->start(context_), StatusIs(kInvalid, HasSubstr("has no windows")));
  context_.windowed_is = true;
  ASSERT_OK(hook_->start(context_));
  step(1);
  step(2);
  end_window();
  EXPECT_THAT(ids(0), UnorderedElementsAre(1, 2));
  step(2);
  step(3);
  EXPECT_THAT(ids(0), UnorderedElementsAre(1, 2, 3));  // the window is not over
  end_window();
  EXPECT_THAT(ids(0), UnorderedElementsAre(2, 3));
  EXPECT_THAT(ids(1), UnorderedElementsAre(1, 2, 3));
  end_window();  // an empty one
  EXPECT_THAT(ids(0), ElementsAre());
  EXPECT_THAT(ids(1), UnorderedElementsAre(2, 3));
}

TEST_F(EvictRowsHookTest, RowsThatAreNearZero) {
  make({"initializer { constant { value: 0 } } eviction { norm_below: 0.5 }", ""});
  step(1);  // made and gone
  RowIndex row = 0;
  const int64_t id = 2;
  StepResult result;
  result.applied = true;
  for (const float value : {0.6f, 0.4f}) {
    ASSERT_OK(table(0).find_or_insert({&id, 1}, {&row, 1}));
    std::fill_n(table(0).content().mutable_row(row).weights(), table(0).dim(), 0.0f);
    table(0).content().mutable_row(row).weights()[0] = value;
    table(0).commit(++context_.at.step);
    ASSERT_OK(hook_->after_step(context_, result));
    EXPECT_EQ(table(0).maintenance().statistics().rows, value > 0.5f ? 1 : 0);
  }
  EXPECT_THAT(table(0).content().evicted_since(0), IsOkAndHolds(UnorderedElementsAre(1, 2)));
  EXPECT_EQ(
      table(0).maintenance().statistics().evicted[static_cast<int>(EvictionReason::kSmallNorm)], 2);
  EXPECT_EQ(table(1).maintenance().statistics().rows, 1);
}

TEST_F(EvictRowsHookTest, OnlyWhenItIsDueAndNeverInEvaluation) {
  make({"eviction { idle_steps: 1 }"});
  hook_ = std::make_unique<EvictRowsHook>(Cadence{.every_steps = 4}, collections());
  ASSERT_OK(hook_->start(context_));
  for (int64_t id = 1; id <= 3; ++id) step(id);
  EXPECT_EQ(ids(0).size(), 3u);
  context_.phase_is = Phase::kEvaluate;
  context_.at.step = 4;
  ASSERT_OK(hook_->after_step(context_, {}));
  ASSERT_OK(hook_->start(context_));
  EXPECT_EQ(ids(0).size(), 3u);
  context_.phase_is = Phase::kTrain;
  context_.at.step = 3;
  step(4);
  EXPECT_THAT(ids(0), UnorderedElementsAre(3, 4));
  step(5);
  EXPECT_EQ(ids(0).size(), 3u);
}

TEST_F(EvictRowsHookTest, MarksOutliveAResume) {
  const std::vector<std::string> tables = {"eviction { idle_seconds: 10 }",
                                           "eviction { idle_windows: 1 }"};
  make(tables);
  context_.windowed_is = true;
  ASSERT_OK(hook_->start(context_));
  step(1);
  end_window();
  for (int64_t id = 2; id <= 8; ++id) step(id);
  HookState state;
  ASSERT_OK(hook_->save_state(state));
  EXPECT_EQ(state.version, 1);
  const HookState both[] = {state, state};

  hook_ = std::make_unique<EvictRowsHook>(kOften, collections());
  ASSERT_OK(hook_->load_state(both));
  ASSERT_OK(hook_->start(context_));
  end_window();
  EXPECT_EQ(ids(1).size(), 7u);  // not 1, which only the first window saw
  step(9, absl::Seconds(8));
  EXPECT_THAT(ids(0), UnorderedElementsAre(7, 8, 9));  // 16 s; 6 was seen at 6 s
}

TEST_F(EvictRowsHookTest, RefusesDamagedStates) {
  make({"eviction { idle_seconds: 10 }"});
  step(1);
  HookState good;
  ASSERT_OK(hook_->save_state(good));
  EvictRowsState marks;
  ASSERT_TRUE(marks.ParseFromString(good.bytes));
  marks.mutable_seconds(0)->add_at(0);
  const HookState unequal = {1, marks.SerializeAsString()};
  marks.mutable_seconds(0)->add_step(5);
  const HookState backwards = {1, marks.SerializeAsString()};
  for (const HookState& state :
       {HookState{2, good.bytes}, HookState{1, "\x0a\xff"}, unequal, backwards}) {
    EXPECT_THAT(hook_->load_state({&state, 1}), StatusIs(kInvalid, HasSubstr("evict_rows")));
  }
  const HookState ranks[] = {good, unequal};
  EXPECT_THAT(hook_->load_state(ranks), StatusIs(kInvalid));
  HookState after;
  ASSERT_OK(hook_->save_state(after));
  EXPECT_EQ(after.bytes, good.bytes);
}

TEST_F(EvictRowsHookTest, IsMadeFromItsConfiguration) {
  make({"eviction { idle_steps: 1 }"});
  FakeClock clock;
  std::vector<EmbeddingCollection*> borrowed = collections();
  const HookResources resources{FileSystem::local(), clock, "", borrowed};
  HookConfig config;
  config.set_name("evict_rows");
  EXPECT_OK(create_hook(config, resources));
  for (const auto on_error : {HookConfig::WARN, HookConfig::DISABLE}) {
    config.set_on_error(on_error);
    EXPECT_THAT(create_hook(config, resources), StatusIs(kInvalid, HasSubstr("must be FAIL")));
  }
  config.clear_on_error();
  CadenceConfig* when = config.MutableExtension(evict_rows)->mutable_when();
  EXPECT_THAT(create_hook(config, resources), StatusIs(kInvalid, HasSubstr("never comes")));
  config.MutableExtension(evict_rows)->mutable_when()->set_at_end(true);
  EXPECT_THAT(create_hook(config, resources), StatusIs(kInvalid, HasSubstr("last checkpoint")));
  config.MutableExtension(evict_rows)->mutable_when()->clear_at_end();
  when->set_every_steps(2);
  ASSERT_OK_AND_ASSIGN(hook_, create_hook(config, resources));
  for (int64_t id = 1; id <= 3; ++id) step(id);
  EXPECT_EQ(ids(0).size(), 3u);
  step(4);
  EXPECT_EQ(ids(0).size(), 2u);
  const std::shared_ptr<EmbeddingCollection> without = collection_of({""});
  borrowed = {without.get()};
  EXPECT_THAT(create_hook(config, {FileSystem::local(), clock, "", borrowed}),
              StatusIs(kInvalid, HasSubstr("no table says what to evict")));
}

TEST_F(EvictRowsHookTest, ATrainedModelForgetsIdsThatDoNotComeBack) {
  TinyTrainerOptions options;
  options.train = {.batches = 40, .batch_size = 2, .sparse = 1, .ids = 1000};
  options.table = table_config("eviction { idle_steps: 5 }");
  const std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  ASSERT_OK(trainer->add_hook(std::make_unique<EvictRowsHook>(kOften, trainer->collections())));
  ASSERT_OK(trainer->train());
  const TableStatistics statistics =
      trainer->collections()[0]->tables()[0]->maintenance().statistics();
  EXPECT_LE(statistics.rows, 2 * 6);
  EXPECT_GE(statistics.rows, 6);
  EXPECT_EQ(statistics.inserted, statistics.rows + statistics.evicted_rows());
  EXPECT_EQ(statistics.occurrences, 80);
}

TEST_F(EvictRowsHookTest, WindowsOfATrainer) {
  TinyTrainerOptions options;
  options.train = {.batch_size = 2, .sparse = 1, .ids = 1'000'000};
  options.table = table_config("eviction { idle_windows: 1 }");
  TrainerParts parts = tiny_parts(options);
  parts.train_data = std::make_unique<FakeWindowedDataset>(
      options.train, std::vector<FakeWindow>{{3, 0}, {2, 1}, {4, 0}});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Trainer> trainer,
                       Trainer::create(options.trainer, std::move(parts)));
  ASSERT_OK(trainer->add_hook(
      std::make_unique<EvictRowsHook>(Cadence{.every_windows = 1}, trainer->collections())));
  ASSERT_OK(trainer->train());
  const EmbeddingTable& table = *trainer->collections()[0]->tables()[0];
  for (const int64_t last_step : table.content().export_rows().last_step) EXPECT_GT(last_step, 5);
  EXPECT_EQ(
      table.maintenance().statistics().inserted - table.maintenance().statistics().rows,
      table.maintenance().statistics().evicted[static_cast<int>(EvictionReason::kIdleWindows)]);
  EXPECT_GT(table.maintenance().statistics().evicted_rows(), 0);
}

}  // namespace
}  // namespace millrace
