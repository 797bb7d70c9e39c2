// Tests of the trainer's state in checkpoints, and of the errors of restore(). tests/resume shows
// that a resume is exact.
#include <torch/nn/module.h>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "framework/trainer.h"
#include "tests/fakes/fake_saver.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

TinyTrainerOptions adam_with_table() {
  TinyTrainerOptions options;
  options.optimizer = "adam";
  options.train.sparse = 2;
  options.trainer.report = {};
  options.trainer.max_steps = 3;
  return options;
}

MemoryCheckpoint captured(Trainer& trainer) {
  absl::StatusOr<TrainState> state = trainer.capture();
  EXPECT_OK(state);
  return MemoryCheckpoint(*state);
}

LoadedState loaded(const MemoryCheckpoint& checkpoint, Trainer& into) {
  absl::StatusOr<TrainState> target = into.capture();
  EXPECT_OK(target);
  return checkpoint.load(*target);
}

std::unique_ptr<Trainer> trained(const TinyTrainerOptions& options) {
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  EXPECT_OK(trainer->train());
  return trainer;
}

// A hook whose state is a number. Refuses numbers of more than one digit.
class NumberHook : public Hook {
 public:
  NumberHook(std::string name, std::string number) : name_(std::move(name)), number_(number) {}
  absl::string_view name() const override { return name_; }
  absl::Status save_state(HookState& state) const override {
    state = {1, number_};
    return absl::OkStatus();
  }
  absl::Status load_state(absl::Span<const HookState> per_rank) override {
    if (per_rank[0].bytes.size() > 1) throw std::runtime_error("too large");
    number_ = per_rank[0].bytes;
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  std::string number_;
};

TEST(TrainerStateTest, HoldsEverythingByName) {
  std::unique_ptr<Trainer> trainer = trained(adam_with_table());
  ASSERT_OK(trainer->add_hook(std::make_unique<NumberHook>("numbers", "7")));
  ASSERT_OK_AND_ASSIGN(const TrainState state, trainer->capture());
  std::vector<std::string> names;
  for (const NamedParameter& tensor : state.dense) names.push_back(tensor.name);
  for (const NamedParameter& tensor : state.optimizer_tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names,
              ElementsAre("weight", "bias", "optimizer/weight/step", "optimizer/weight/exp_avg",
                          "optimizer/weight/exp_avg_sq", "optimizer/bias/step",
                          "optimizer/bias/exp_avg", "optimizer/bias/exp_avg_sq"));
  ASSERT_EQ(state.tables.size(), 1u);
  EXPECT_EQ(state.tables[0]->name(), "items");
  EXPECT_EQ(state.shared.progress().step(), 3);
  ASSERT_EQ(state.rank.cursor_size(), 1);
  EXPECT_EQ(state.rank.cursor(0).begin(0), 3);
  ASSERT_EQ(state.rank.hook_size(), 1);
  EXPECT_EQ(state.rank.hook(0).state(), "7");
  EXPECT_EQ(state.rank.table(0).applied_steps(), 3);
  EXPECT_EQ(state.rank.report().steps(), 3);
}

TEST(TrainerStateTest, AllDifferencesAreListedAndNothingChanges) {
  const MemoryCheckpoint checkpoint = captured(*trained(adam_with_table()));
  std::unique_ptr<Trainer> trainer = trained(adam_with_table());
  ASSERT_OK(trainer->train());
  const std::string before = captured(*trainer).to_string();
  LoadedState state = loaded(checkpoint, *trainer);
  state.dense[0].value = torch::zeros({2, 2});
  state.dense[1].name = "bais";
  state.optimizer_tensors.pop_back();
  state.optimizer_tensors.push_back({"optimizer/wieght/sum", torch::zeros({2, 1})});
  state.tables.clear();
  std::vector<std::string> notes;
  EXPECT_THAT(
      trainer->restore(std::move(state), &notes),
      StatusIs(kInvalid,
               "the state is that of another model, in 6 points:\n"
               "  dense tensor \"weight\" is float32 [2, 2]; the model has float32 [2, 1]\n"
               "  dense tensor \"bias\", float32 [1], is missing\n"
               "  dense tensor \"bais\", float32 [1], is not in the model; did you mean \"bias\"?\n"
               "  optimizer state \"optimizer/wieght/sum\" is of no parameter here; did you mean "
               "\"weight\"?\n"
               "  optimizer state \"bias/exp_avg_sq\" is missing\n"
               "  table items is missing"));
  EXPECT_EQ(captured(*trainer).to_string(), before);
  EXPECT_THAT(notes, IsEmpty());
}

// One hook fails after another hook has loaded its state.
TEST(TrainerStateTest, AnErrorOfAHookNamesItAndUndoesAll) {
  std::unique_ptr<Trainer> from = trained(adam_with_table());
  ASSERT_OK(from->add_hook(std::make_unique<NumberHook>("first", "1")));
  ASSERT_OK(from->add_hook(std::make_unique<NumberHook>("second", "22")));
  const MemoryCheckpoint checkpoint = captured(*from);
  TinyTrainerOptions options = adam_with_table();
  options.trainer.max_steps = 2;
  std::unique_ptr<Trainer> trainer = trained(options);
  ASSERT_OK(trainer->add_hook(std::make_unique<NumberHook>("first", "8")));
  ASSERT_OK(trainer->add_hook(std::make_unique<NumberHook>("second", "9")));
  const std::string before = captured(*trainer).to_string();
  std::vector<std::string> notes;
  EXPECT_THAT(trainer->restore(loaded(checkpoint, *trainer), &notes),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("hook \"second\""), HasSubstr("too large"))));
  EXPECT_EQ(captured(*trainer).to_string(), before);
}

TEST(TrainerStateTest, HooksThatAreNewOrGoneAreTold) {
  std::unique_ptr<Trainer> from = trained(adam_with_table());
  ASSERT_OK(from->add_hook(std::make_unique<NumberHook>("old", "1")));
  const MemoryCheckpoint checkpoint = captured(*from);
  std::unique_ptr<Trainer> trainer = tiny_trainer(adam_with_table());
  ASSERT_OK(trainer->add_hook(std::make_unique<NumberHook>("young", "2")));
  std::vector<std::string> notes;
  ASSERT_OK(trainer->restore(loaded(checkpoint, *trainer), &notes));
  EXPECT_THAT(notes,
              ElementsAre(HasSubstr("hook \"young\" is new"), HasSubstr("hook \"old\" is gone")));
  EXPECT_EQ(trainer->progress().step, 3);
}

TEST(TrainerStateTest, AReportOfOtherMetricsBeginsAnew) {
  const MemoryCheckpoint checkpoint = captured(*trained(adam_with_table()));
  TinyTrainerOptions options = adam_with_table();
  options.trainer.metrics = {"auc"};
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  std::vector<std::string> notes;
  ASSERT_OK(trainer->restore(loaded(checkpoint, *trainer), &notes));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("the report begins anew")));
  ASSERT_OK_AND_ASSIGN(const TrainState state, trainer->capture());
  EXPECT_EQ(state.rank.report().steps(), 0);
  // Tables count over all resumes; the report holds the counts since its beginning.
  ASSERT_EQ(state.rank.report().table_size(), 1);
  const auto& before = state.rank.report().table(0);
  EXPECT_GT(before.occurrences(), 0);
  EXPECT_EQ(before.occurrences(), state.rank.table(0).occurrences());
  EXPECT_EQ(before.inserted(), state.rank.table(0).inserted());
}

TEST(TrainerStateTest, DamageIsNamedAndChangesNothing) {
  const MemoryCheckpoint checkpoint = captured(*trained(adam_with_table()));
  std::unique_ptr<Trainer> trainer = tiny_trainer(adam_with_table());
  const std::string before = captured(*trainer).to_string();
  const auto expect_refused = [&](absl::string_view message, void (*spoil)(LoadedState&)) {
    LoadedState state = loaded(checkpoint, *trainer);
    spoil(state);
    std::vector<std::string> notes;
    EXPECT_THAT(trainer->restore(std::move(state), &notes),
                StatusIs(kDataLoss, HasSubstr(std::string(message))));
    EXPECT_EQ(captured(*trainer).to_string(), before);
  };
  expect_refused("no rank", [](LoadedState& state) { state.ranks.clear(); });
  expect_refused("progress",
                 [](LoadedState& state) { state.shared.mutable_progress()->set_step(-1); });
  expect_refused("cursor",
                 [](LoadedState& state) { state.ranks[0].mutable_cursor(0)->clear_end(); });
  expect_refused("pending request",
                 [](LoadedState& state) { state.shared.add_pending()->set_kind(9); });
  expect_refused("the next report", [](LoadedState& state) {
    state.ranks[0].mutable_report()->set_metrics("nonsense");
  });
  expect_refused("the next report",
                 [](LoadedState& state) { state.ranks[0].mutable_report()->set_steps(-1); });
  expect_refused("table items", [](LoadedState& state) {
    state.ranks[0].mutable_table(0)->set_applied_steps(-1);
  });
  expect_refused("two states of hook \"x\"", [](LoadedState& state) {
    for (int i = 0; i < 2; ++i) state.ranks[0].add_hook()->set_name("x");
  });
}

// Rows record the step of their last use in 32 bits: the largest such step is the last one of a
// job.
TEST(TrainerStateTest, AStepThatRowsCannotNoteEndsTheRunBeforeAnythingChanges) {
  constexpr int64_t kLast = 4294967295;
  TinyTrainerOptions options = adam_with_table();
  options.train.batches = 10;
  const MemoryCheckpoint checkpoint = captured(*trained(options));
  options.trainer.max_steps = 0;
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  std::vector<std::string> notes;
  LoadedState state = loaded(checkpoint, *trainer);
  state.shared.mutable_progress()->set_step(kLast - 1);
  state.ranks[0].mutable_table(0)->set_last_step(kLast - 1);
  ASSERT_OK(trainer->restore(std::move(state), &notes));
  EXPECT_THAT(trainer->train(), StatusIs(absl::StatusCode::kOutOfRange,
                                         HasSubstr("table items cannot note step 4294967296")));
  EXPECT_EQ(trainer->progress().step, kLast);
  ASSERT_OK_AND_ASSIGN(const TrainState end, trainer->capture());
  EXPECT_EQ(end.rank.table(0).applied_steps(), 4) << "one step, and nothing of the next";
  EXPECT_EQ(end.rank.table(0).last_step(), kLast);

  // Such a state cannot be loaded either.
  const std::string before = captured(*trainer).to_string();
  state = loaded(checkpoint, *trainer);
  state.ranks[0].mutable_table(0)->set_last_step(kLast + 1);
  EXPECT_THAT(trainer->restore(std::move(state), &notes),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("table items cannot note step 4294967296")));
  EXPECT_EQ(captured(*trainer).to_string(), before);
}

// Fake data with the name of a file.
class NamedData : public FakeDataset {
 public:
  NamedData(FakeDatasetOptions options, std::string file)
      : FakeDataset(options), file_(std::move(file)) {}
  absl::StatusOr<DataIdentity> identity() const override {
    DataIdentity identity;
    identity.add_file()->set_name(file_);
    return identity;
  }

 private:
  const std::string file_;
};

TEST(TrainerStateTest, OtherDataIsRefusedWithinAnEpoch) {
  const auto make = [](int64_t steps, const std::string& file) {
    TinyTrainerOptions options = adam_with_table();
    options.trainer.max_steps = steps;
    TrainerParts parts = tiny_parts(options);
    parts.train_data = std::make_unique<NamedData>(options.train, file);
    auto trainer = Trainer::create(options.trainer, std::move(parts));
    EXPECT_OK(trainer);
    return *std::move(trainer);
  };
  for (const int64_t steps : {3, 4}) {  // of 4 in an epoch
    std::unique_ptr<Trainer> from = make(steps, "a.csv"), same = make(steps, "a.csv");
    std::unique_ptr<Trainer> other = make(steps, "b.csv");
    ASSERT_OK(from->train());
    const MemoryCheckpoint checkpoint = captured(*from);
    std::vector<std::string> notes;
    ASSERT_OK(same->restore(loaded(checkpoint, *same), &notes));
    EXPECT_THAT(notes, IsEmpty());
    const absl::Status status = other->restore(loaded(checkpoint, *other), &notes);
    if (steps == 4) {
      EXPECT_OK(status);
      EXPECT_THAT(notes, ElementsAre(HasSubstr("file 1 is b.csv, not a.csv")));
    } else {
      EXPECT_THAT(status, StatusIs(kInvalid, AllOf(HasSubstr("file 1 is b.csv, not a.csv"),
                                                   HasSubstr("put the files back"))));
      EXPECT_EQ(other->progress().step, 0);
    }
  }
}

// Fake data without files, whose column "user" has a type.
class TypedData : public FakeDataset {
 public:
  TypedData(FakeDatasetOptions options, DataIdentity::Cells cells, int* calls)
      : FakeDataset(options), cells_(cells), calls_(calls) {}
  absl::StatusOr<DataIdentity> identity() const override {
    ++*calls_;
    DataIdentity identity;
    DataIdentity::Column& column = *identity.add_column();
    column.set_name("user");
    column.set_cells(cells_);
    return identity;
  }

 private:
  const DataIdentity::Cells cells_;
  int* const calls_;
};

TEST(TrainerStateTest, ColumnsThatDifferReplaceTheTypeOfEarlierData) {
  int calls = 0;
  const auto make = [&](DataIdentity::Cells cells) {
    TinyTrainerOptions options = adam_with_table();
    TrainerParts parts = tiny_parts(options);
    parts.train_data = std::make_unique<TypedData>(options.train, cells, &calls);
    auto trainer = Trainer::create(options.trainer, std::move(parts));
    EXPECT_OK(trainer);
    return *std::move(trainer);
  };
  const std::unique_ptr<Trainer> from = make(DataIdentity::TEXT);
  const MemoryCheckpoint checkpoint = captured(*from);
  ASSERT_OK(from->capture().status());
  EXPECT_EQ(calls, 1) << "it may read files";
  const std::unique_ptr<Trainer> mixed = make(DataIdentity::UNKNOWN_CELLS);
  std::vector<std::string> notes;
  ASSERT_OK(mixed->restore(loaded(checkpoint, *mixed), &notes));
  ASSERT_OK_AND_ASSIGN(const TrainState state, mixed->capture());
  ASSERT_EQ(state.shared.train_data().column_size(), 1);
  EXPECT_EQ(state.shared.train_data().column(0).cells(), DataIdentity::UNKNOWN_CELLS);
  const std::unique_ptr<Trainer> other = make(DataIdentity::NUMBERS);
  EXPECT_THAT(other->restore(loaded(checkpoint, *other), &notes),
              StatusIs(kInvalid, HasSubstr("column \"user\" holds numbers")));
}

TEST(TrainerStateTest, OnlyBetweenRunsAndWhereItIsServed) {
  std::vector<std::string> events;
  absl::Status captured_in_event, restored_in_event;
  Trainer* running = nullptr;
  std::unique_ptr<Trainer> trainer = tiny_trainer(adam_with_table());
  running = trainer.get();
  NumberHook object("object", "1");
  ASSERT_OK(trainer->add_hook(
      std::make_unique<RecordingHook>(&events, [&](HookContext&, absl::string_view event) {
        if (event != "after_step") return absl::OkStatus();
        std::vector<std::string> notes;
        captured_in_event = running->capture().status();
        restored_in_event = running->restore(LoadedState(), &notes);
        return absl::OkStatus();
      })));
  ASSERT_OK(trainer->train());
  EXPECT_THAT(captured_in_event, StatusIs(kFailedPrecondition, HasSubstr("during a run")));
  EXPECT_THAT(restored_in_event, StatusIs(kFailedPrecondition, HasSubstr("during a run")));
  EXPECT_OK(trainer->capture());
}

TEST(TrainerStateTest, WhatSavingFailsWithEndsTheRun) {
  TrainerParts parts = tiny_parts(adam_with_table());
  parts.saver = std::make_unique<FakeSaver>(
      [](const TrainState&, const auto&) { return absl::DataLossError("no room"); });
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Trainer> trainer,
                       Trainer::create(adam_with_table().trainer, std::move(parts)));
  std::vector<std::string> events;
  ASSERT_OK(trainer->add_hook(
      std::make_unique<RecordingHook>(&events, [](HookContext& context, absl::string_view event) {
        if (event == "after_step") context.requests().checkpoint();
        return absl::OkStatus();
      })));
  EXPECT_THAT(trainer->train(), StatusIs(kDataLoss, HasSubstr("making a checkpoint: no room")));
  EXPECT_EQ(trainer->progress().step, 1);
}

class Nothing : public Checkpointable {
 public:
  absl::Status save_state(ObjectState&) const override { return absl::OkStatus(); }
  absl::Status load_state(absl::Span<const ObjectState>) override { return absl::OkStatus(); }
};

TEST(TrainerStateTest, ObjectsHaveNamesOfTheirOwn) {
  std::unique_ptr<Trainer> trainer = tiny_trainer(adam_with_table());
  Nothing object;
  EXPECT_OK(trainer->add_state("sampler", object, StatePlacement::kOnce));
  EXPECT_THAT(trainer->add_state("sampler", object, StatePlacement::kPerRank),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("\"sampler\"")));
  EXPECT_THAT(trainer->add_state("", object, StatePlacement::kOnce), StatusIs(kInvalid));
}

// A dataset that records the cursors of seek().
class SeekDataset : public Dataset {
 public:
  explicit SeekDataset(std::vector<Cursor>* seeks) : seeks_(seeks) {}
  absl::Status start_epoch(int64_t) override { return absl::OkStatus(); }
  absl::Status seek(absl::Span<const Cursor> cursors) override {
    seeks_->assign(cursors.begin(), cursors.end());
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<Batch>> next() override { return std::optional<Batch>(); }
  void cancel() override {}

 private:
  std::vector<Cursor>* seeks_;
};

// Two ranks wrote the state, and one rank reads it: the rank gets both positions, even if no data
// was read between restore and save.
TEST(TrainerStateTest, AnotherNumberOfRanksGetsAllPositions) {
  TinyTrainerOptions options;
  options.optimizer = "adam";
  options.trainer.max_steps = 3;
  options.trainer.report = {};
  const MemoryCheckpoint one = captured(*trained(options));
  std::vector<Cursor> seeks;
  const auto reader = [&] {
    TrainerParts parts = tiny_parts(options);
    parts.train_data = std::make_unique<SeekDataset>(&seeks);
    TrainerOptions more = options.trainer;
    more.max_steps = 0;
    auto trainer = Trainer::create(more, std::move(parts));
    EXPECT_OK(trainer);
    return *std::move(trainer);
  };
  std::unique_ptr<Trainer> first = reader();
  ASSERT_OK_AND_ASSIGN(const TrainState target, first->capture());
  LoadedState both = MemoryCheckpoint::load(target, {&one, &one});
  both.ranks[1].mutable_cursor(0)->set_begin(0, 2);
  std::vector<std::string> notes;
  ASSERT_OK(first->restore(std::move(both), &notes));
  std::unique_ptr<Trainer> second = reader();
  ASSERT_OK(second->restore(loaded(captured(*first), *second), &notes));
  ASSERT_OK(second->train());
  ASSERT_EQ(seeks.size(), 2u);
  EXPECT_THAT(seeks[0].rows_left(), ElementsAre(RowInterval{3, 4}));
  EXPECT_THAT(seeks[1].rows_left(), ElementsAre(RowInterval{2, 4}));
}

}  // namespace
}  // namespace millrace
