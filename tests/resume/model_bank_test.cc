// Tests that a trainer begins with the content of the sources, and that all other content stays.
#include "checkpoint/bank/model_bank.h"

#include <google/protobuf/text_format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/model_only.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/saver.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kFolder[] = "a/checkpoints";
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kEverything[] = "parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER, PROGRESS, CURSOR, HOOKS]";

TinyTrainerOptions job(int64_t steps = 5) {
  TinyTrainerOptions options;
  options.train = {.batches = 12, .batch_size = 6, .dense = 3, .sparse = 2, .ids = 60};
  options.optimizer = "adam";
  options.trainer.max_steps = steps;
  options.trainer.report = {};
  return options;
}

ModelBankConfig bank_config(const std::string& text) {
  ModelBankConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  for (SourceConfig& source : *config.mutable_source()) {
    if (source.path().empty()) source.set_path(kFolder);
  }
  return config;
}

TrainState state_of(Trainer& trainer) {
  absl::StatusOr<TrainState> state = trainer.capture();
  EXPECT_OK(state.status());
  return *std::move(state);
}
std::string text_of(Trainer& trainer) { return MemoryCheckpoint(state_of(trainer)).to_string(); }
EmbeddingTable& table_of(Trainer& trainer) { return *state_of(trainer).tables[0]; }

std::string dense_text(Trainer& trainer) {
  std::string text;
  for (const NamedParameter& tensor : state_of(trainer).dense) {
    const at::Tensor value = tensor.value.detach();
    text += std::string(static_cast<const char*>(value.const_data_ptr()), value.nbytes());
  }
  return text;
}

// The knowledge of a hook about the evaluations.
struct Figures : Checkpointable {
  absl::Status save_state(ObjectState& state) const override {
    state = {1, text};
    return absl::OkStatus();
  }
  absl::Status load_state(absl::Span<const ObjectState> per_rank) override {
    text = per_rank.empty() ? "" : per_rank[0].bytes;
    return absl::OkStatus();
  }
  std::string text;
};

class ModelBankTest : public testing::Test {
 protected:
  std::unique_ptr<Trainer> trained(TinyTrainerOptions options = job()) {
    std::unique_ptr<Trainer> trainer = tiny_trainer(std::move(options));
    EXPECT_OK(trainer->train().status());
    return trainer;
  }
  // Saves a checkpoint of the trainer.
  std::string save(Trainer& trainer) {
    SaverOptions options;
    options.folder = kFolder;
    options.write_threads = 1;
    const auto saver = Saver::create(options, files_, Clock::real());
    EXPECT_OK(saver.status());
    const auto info = (*saver)->save(state_of(trainer), {}, ranks_);
    EXPECT_OK(info.status());
    return info->path;
  }
  absl::Status load(const std::string& text, Trainer& trainer) {
    return load(bank_config(text), trainer);
  }
  absl::Status load(const ModelBankConfig& config, Trainer& trainer) {
    ModelBank bank(config, files_, 1);
    const std::string before = text_of(trainer);
    absl::StatusOr<LoadedState> loaded = bank.load(state_of(trainer), ranks_);
    EXPECT_EQ(text_of(trainer), before) << "reading changed it";
    plan_ = bank.plan();
    RETURN_IF_ERROR(loaded.status());
    return trainer.restore(*std::move(loaded), &notes_);
  }

  MemoryFileSystem files_;
  OneRankCollectives ranks_;
  std::string plan_;
  std::vector<std::string> notes_;
};

TEST_F(ModelBankTest, AllPartsAreAFullResume) {
  const std::unique_ptr<Trainer> from = trained();
  save(*from);
  const std::unique_ptr<Trainer> to = tiny_trainer(job(9)), whole = trained(job(9));
  ASSERT_OK(load(absl::StrCat("source { ", kEverything, " }"), *to));
  EXPECT_EQ(to->progress().step, 5);
  ASSERT_OK(to->train().status());
  EXPECT_EQ(dense_text(*to), dense_text(*whole));
  EXPECT_EQ(table_of(*to).content().digest(), table_of(*whole).content().digest());
  EXPECT_EQ(table_of(*to).applied_steps(), 9);
}

// Tests the promise of the message on a resume with another configuration.
TEST_F(ModelBankTest, AllPartsKeepEverythingWithAnotherLearningRate) {
  const std::unique_ptr<Trainer> from = trained();
  save(*from);
  TinyTrainerOptions slower = job(9);
  slower.learning_rate /= 8;
  const std::unique_ptr<Trainer> to = tiny_trainer(slower), same = trained(job(9));
  ASSERT_OK(load(absl::StrCat("source { ", kEverything, " }"), *to));
  EXPECT_EQ(to->progress().step, 5);
  EXPECT_EQ(dense_text(*to), dense_text(*from));
  EXPECT_EQ(table_of(*to).content().digest(), table_of(*from).content().digest());
  const std::vector<NamedParameter> own = state_of(*to).optimizer_tensors();
  const std::vector<NamedParameter> theirs = state_of(*from).optimizer_tensors();
  ASSERT_EQ(own.size(), theirs.size());
  for (size_t i = 0; i < own.size(); ++i) EXPECT_TRUE(own[i].value.equal(theirs[i].value));
  EXPECT_EQ(state_of(*to).rank.cursor(0).SerializeAsString(),
            state_of(*from).rank.cursor(0).SerializeAsString());
  ASSERT_OK(to->train().status());
  EXPECT_EQ(to->progress().step, 9);
  EXPECT_NE(dense_text(*to), dense_text(*same));
}

TEST_F(ModelBankTest, SchedulesThatFollowAMetric) {
  const auto with_schedule = [](int64_t max_steps) {
    TinyTrainerOptions options = job(max_steps);
    options.trainer.report = {.every_steps = 1};
    // No value improves on the first value by this threshold.
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "adam {} learning_rate: 0.1 schedule { reduce_on_plateau { monitor: 'train/loss' factor: "
        "0.5 patience: 0 threshold: 0.99 } }",
        &options.dense_optimizer.emplace()));
    return options;
  };
  const auto observed = [](Trainer& trainer) {
    std::vector<std::string> found;
    const TrainState state = state_of(trainer);
    for (const NamedState& hook : state.rank.hook()) {
      if (hook.name() == "schedule_monitor") found.push_back(hook.state());
    }
    return found;
  };
  const std::unique_ptr<Trainer> from = trained(with_schedule(5));
  save(*from);
  for (const char* parts : {"WEIGHTS", "[WEIGHTS, SCHEDULES]", "[WEIGHTS, HOOKS]"}) {
    SCOPED_TRACE(parts);
    const std::unique_ptr<Trainer> to = tiny_trainer(with_schedule(5));
    ASSERT_OK(load(absl::StrCat("source { parts: ", parts, " }"), *to));
    EXPECT_EQ(observed(*to) == observed(*from), parts != std::string("WEIGHTS"));
    EXPECT_EQ(to->progress().step, 0);
  }
}

TEST_F(ModelBankTest, WeightsAloneBeginANewTraining) {
  const std::unique_ptr<Trainer> from = trained();
  save(*from);
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  ASSERT_OK(load("source { parts: WEIGHTS }", *to));
  EXPECT_EQ(to->progress().step, 0);
  EXPECT_EQ(dense_text(*to), dense_text(*from));
  EXPECT_THAT(state_of(*to).optimizer_tensors(), IsEmpty());
  const TableRows rows = table_of(*to).content().export_rows(),
                  theirs = table_of(*from).content().export_rows();
  EXPECT_EQ(rows.ids, theirs.ids);
  EXPECT_EQ(rows.weights, theirs.weights);
  EXPECT_NE(rows.slots[0].values, theirs.slots[0].values);
  EXPECT_EQ(rows.last_step, std::vector<int64_t>(rows.ids.size(), 0));
  EXPECT_EQ(table_of(*to).applied_steps(), 0);
  EXPECT_THAT(plan_, AllOf(HasSubstr("weight "), HasSubstr("(as it is)"), HasSubstr(kFolder)));
  EXPECT_OK(to->train().status());
}

// Returns "weight@average_updates", "weight@average" and so on.
std::vector<at::Tensor> average_of(Trainer& trainer) {
  std::vector<at::Tensor> tensors;
  for (const NamedParameter& tensor : state_of(trainer).optimizer_tensors()) {
    if (is_of_average(tensor.name)) tensors.push_back(tensor.value.detach().clone());
  }
  return tensors;
}

TEST_F(ModelBankTest, TheAverageIsAPartOfOptimizerState) {
  TinyTrainerOptions averaged = job();
  averaged.moving_average.emplace();
  const std::unique_ptr<Trainer> from = trained(averaged), without = trained(job(6));
  save(*from);
  const std::vector<at::Tensor> theirs = average_of(*from);
  ASSERT_EQ(theirs.size(), 4u);
  EXPECT_EQ(theirs[0].item<int64_t>(), 5);
  averaged.moving_average->set_decay(0.5);
  const auto expect_begun_anew = [&](Trainer& trainer) {
    const std::vector<at::Tensor> own = average_of(trainer);
    ASSERT_EQ(own.size(), 4u);
    EXPECT_EQ(own[0].item<int64_t>(), 0);
    EXPECT_TRUE(own[1].equal(state_of(trainer).dense[0].value));
  };
  const auto expect_theirs = [&](Trainer& trainer) {
    const std::vector<at::Tensor> own = average_of(trainer);
    ASSERT_EQ(own.size(), 4u);
    for (size_t i = 0; i < own.size(); ++i) EXPECT_TRUE(own[i].equal(theirs[i])) << i;
  };
  std::unique_ptr<Trainer> to = tiny_trainer(averaged);
  ASSERT_OK(load("source { parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER] }", *to));
  expect_theirs(*to);
  EXPECT_THAT(plan_, HasSubstr("weight@average "));
  // A source with the state but without the average leaves the average as it is.
  ASSERT_OK(load("source { parts: [WEIGHTS, DENSE_OPTIMIZER] exclude: '*@average*' }", *to));
  expect_theirs(*to);
  to = tiny_trainer(averaged);
  ASSERT_OK(load("source { parts: WEIGHTS }", *to));
  EXPECT_EQ(dense_text(*to), dense_text(*from));
  expect_begun_anew(*to);
  EXPECT_OK(to->train().status());

  to = tiny_trainer(job());
  EXPECT_THAT(load("source { parts: [WEIGHTS, DENSE_OPTIMIZER] }", *to),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("weight/average")));
  ASSERT_OK(load("source { parts: [WEIGHTS, DENSE_OPTIMIZER] exclude: '*@average*' }", *to));
  // The average begins again if the source has none.
  save(*without);
  to = tiny_trainer(averaged);
  ASSERT_OK(load("source { parts: [WEIGHTS, DENSE_OPTIMIZER] }", *to));
  expect_begun_anew(*to);
}

TEST_F(ModelBankTest, SlotsComeWithFrequenciesAndAppliedSteps) {
  const std::unique_ptr<Trainer> from = trained();
  save(*from);
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  ASSERT_OK(load("source { parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER] }", *to));
  const TableRows rows = table_of(*to).content().export_rows(),
                  theirs = table_of(*from).content().export_rows();
  EXPECT_EQ(rows.slots[0].values, theirs.slots[0].values);
  EXPECT_EQ(rows.frequency, theirs.frequency);
  EXPECT_EQ(table_of(*to).applied_steps(), 5);
  EXPECT_EQ(state_of(*to).optimizer_tensors().size(), 6u);
}

TEST_F(ModelBankTest, AModelOnlyCheckpointGivesWeights) {
  const std::unique_ptr<Trainer> from = trained();
  ThreadPool threads(1);
  ASSERT_OK(make_model_only(files_, save(*from), threads));
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  EXPECT_THAT(load("source {}", *to),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has no SLOTS")));
  EXPECT_THAT(load("source { parts: HOOKS }", *to),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has no HOOKS")));
  ASSERT_OK(load("source { parts: WEIGHTS }", *to));
  EXPECT_EQ(dense_text(*to), dense_text(*from));
}

TEST_F(ModelBankTest, TheNewestOfAFolderAndOneByPath) {
  const std::string first = save(*trained(job(3)));
  const std::unique_ptr<Trainer> newest = trained(job(6));
  save(*newest);
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  ASSERT_OK(load("source { parts: WEIGHTS }", *to));
  EXPECT_EQ(dense_text(*to), dense_text(*newest));
  ASSERT_OK(load(absl::StrCat("source { path: \"", first, "\" parts: WEIGHTS }"), *to));
  EXPECT_EQ(dense_text(*to), dense_text(*trained(job(3))));
}

TEST_F(ModelBankTest, AnotherShapeIsNamedAndNothingChanges) {
  save(*trained());
  TinyTrainerOptions wider = job();
  wider.train.dense = 4;
  wider.optimizer = "sgd";
  const std::unique_ptr<Trainer> to = tiny_trainer(wider);
  EXPECT_THAT(load("source {}", *to),
              StatusIs(kInvalid, AllOf(HasSubstr("weight is F32 [3, 1]; weight of the model is "
                                                 "F32 [4, 1]"),
                                       HasSubstr("items@exp_avg is not in the model"))));
  ASSERT_OK(load("source { exclude: [\"weight\", \"items@*\"] allow_missing: \"weight\" }", *to));
  EXPECT_THAT(plan_, HasSubstr("weight  F32 [4, 1]"));
}

TEST_F(ModelBankTest, MissingSources) {
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  EXPECT_THAT(load("source {}", *to), StatusIs(absl::StatusCode::kNotFound, HasSubstr(kFolder)));
  EXPECT_OK(load("source { optional: true }", *to));
  files_.put("a/file", "x");
  EXPECT_THAT(load("source { path: \"a/file\" }", *to),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("a/file is a file"), HasSubstr("needs rows"))));
}

TEST_F(ModelBankTest, ADamagedNewestOfAnOutputDirectoryIsPassedOverWithAWarning) {
  const std::unique_ptr<Trainer> older = trained(job(3));
  save(*older);
  const std::string path = save(*trained(job(6))) + "/dense-00000-of-00001.safetensors";
  ASSERT_OK_AND_ASSIGN(std::string bytes, read_file(files_, path));
  bytes.back() ^= 1;
  files_.put(path, bytes);
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  testing::internal::CaptureStderr();
  ASSERT_OK(load("source { path: \"a\" parts: WEIGHTS }", *to));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("model bank: passed over: " + path + " is damaged between bytes"));
  EXPECT_EQ(dense_text(*to), dense_text(*older));
}

TEST_F(ModelBankTest, DamageIsNamedAndNothingChanges) {
  const std::string path = save(*trained()) + "/dense-00000-of-00001.safetensors";
  ASSERT_OK_AND_ASSIGN(std::string bytes, read_file(files_, path));
  bytes.back() ^= 1;
  files_.put(path, bytes);
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  for (const std::string& source : {directory_of(path), std::string(kFolder)}) {
    EXPECT_THAT(load(absl::StrCat("source { path: \"", source, "\" }"), *to),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("dense-00000-of-00001")))
        << source;
  }
}

TEST_F(ModelBankTest, RowsOfSeveralSourcesAreMerged) {
  const std::unique_ptr<Trainer> from = trained();
  save(*from);
  const int64_t known = table_of(*from).content().export_rows().ids[0];
  files_.put("rows.txt", absl::StrCat(known, " 1 2 3 4\n777777 5 6 7 8\n"));
  const std::string rows = "path: \"rows.txt\" rows { table: \"items\" }";
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  ASSERT_OK(load(absl::StrCat("source {} source { ", rows, " }"), *to));
  const int64_t before = table_of(*from).rows();
  EXPECT_EQ(table_of(*to).rows(), before + 1);
  const int64_t ids[] = {known, 777777};
  RowIndex found[2];
  table_of(*to).find(ids, found);
  EXPECT_EQ(table_of(*to).content().rows().weights(found[0])[3], 4);
  EXPECT_EQ(table_of(*to).content().rows().weights(found[1])[0], 5);
  EXPECT_GT(table_of(*to).content().rows().frequency(found[0]), 0u);
  ASSERT_OK(load(absl::StrCat("source {} source { clear_rows: \"*\" ", rows, " }"), *to));
  EXPECT_EQ(table_of(*to).rows(), 2);
  EXPECT_THAT(load("source {} source { path: \"rows.txt\" rows { table: \"itms\" } }", *to),
              StatusIs(kInvalid, HasSubstr("no table itms")));
}

TEST_F(ModelBankTest, ALimitThatDoesNotAllowTheRowsChangesNothing) {
  save(*trained());
  TinyTrainerOptions small = job();
  small.table.mutable_limit()->set_max_rows(3);
  const std::unique_ptr<Trainer> to = tiny_trainer(small);
  EXPECT_THAT(load("source {}", *to),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("items")));
}

TEST_F(ModelBankTest, DynamicSourcesAreLoadedWhenTheyChange) {
  Figures figures;
  const std::unique_ptr<Trainer> from = trained(job(2));
  ASSERT_OK(from->add_state("figures", figures, StatePlacement::kOnce));
  save(*from);
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  ModelBank bank(bank_config("source { parts: WEIGHTS dynamic: true }"), files_, 1);
  EXPECT_TRUE(bank.dynamic());
  ASSERT_OK(to->add_state(kModelBank, bank, StatePlacement::kOnce));
  ASSERT_OK_AND_ASSIGN(LoadedState loaded, bank.load(state_of(*to), ranks_));
  ASSERT_OK(to->restore(std::move(loaded), &notes_));
  ASSERT_OK(to->train().status());
  const std::string before = text_of(*to);
  const TrainState state = state_of(*to);
  EXPECT_THAT(bank.reload(state, ranks_), IsOkAndHolds(false)) << "it has not changed";
  EXPECT_EQ(text_of(*to), before);

  // A run saves its last step a second time, with the result of the evaluation.
  ASSERT_OK_AND_ASSIGN(const auto first, CheckpointReader::open(files_, save(*from)));
  figures.text = "auc 0.5";
  ASSERT_OK_AND_ASSIGN(const auto second, CheckpointReader::open(files_, save(*from)));
  ASSERT_NE(first->manifest().digest(), second->manifest().digest());
  EXPECT_THAT(bank.reload(state, ranks_), IsOkAndHolds(false)) << "the model is the same";

  const std::unique_ptr<Trainer> later = trained(job(4));
  save(*later);
  const TableRows old = table_of(*to).content().export_rows();
  ASSERT_THAT(bank.reload(state, ranks_), IsOkAndHolds(true));
  EXPECT_EQ(dense_text(*to), dense_text(*later));
  EXPECT_EQ(to->progress().step, 5);
  EXPECT_EQ(state_of(*to).optimizer_tensors().size(), 6u);
  // Rows are replaced or added; their statistics stay.
  const TableRows theirs = table_of(*later).content().export_rows();
  std::vector<RowIndex> rows(theirs.ids.size());
  table_of(*to).find(theirs.ids, absl::MakeSpan(rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_NE(rows[i], kNoRow);
    EXPECT_EQ(table_of(*to).content().rows().weights(rows[i])[0], theirs.weights[i * 4]);
  }
  rows.resize(old.ids.size());
  table_of(*to).find(old.ids, absl::MakeSpan(rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_NE(rows[i], kNoRow);
    EXPECT_EQ(table_of(*to).content().rows().last_step(rows[i]), old.last_step[i]);
  }
  EXPECT_EQ(table_of(*to).content().evicted_log_begins(), 6)
      << "a delta cannot know of the new rows";
}

// Rows loaded at step 0 record step 0, as the rows of the first checkpoint.
TEST_F(ModelBankTest, ADeltaOnTheStartHasTheRowsThatWereLoadedAfterIt) {
  for (const bool reloaded : {false, true}) {
    SCOPED_TRACE(reloaded ? "reloaded" : "loaded at first alone");
    save(*trained(job(1)));
    const std::unique_ptr<Trainer> to = tiny_trainer(job(2));
    ModelBank bank(bank_config("source { parts: WEIGHTS dynamic: true }"), files_, 1);
    ASSERT_OK(to->add_state(kModelBank, bank, StatePlacement::kOnce));
    ASSERT_OK_AND_ASSIGN(LoadedState loaded, bank.load(state_of(*to), ranks_));
    ASSERT_OK(to->restore(std::move(loaded), &notes_));
    SaverOptions options;
    options.folder = absl::StrCat("b/", reloaded, "/checkpoints");
    options.write_threads = 1;
    options.max_deltas = 3;
    ASSERT_OK_AND_ASSIGN(const auto saver, Saver::create(options, files_, Clock::real()));
    ASSERT_OK(saver->save(state_of(*to), {}, ranks_).status());  // at_start
    if (reloaded) {
      save(*trained(job(9)));  // with rows that the next steps do not touch
      ASSERT_THAT(bank.reload(state_of(*to), ranks_), IsOkAndHolds(true));
    }
    ASSERT_OK(to->train().status());
    ASSERT_OK_AND_ASSIGN(const CheckpointInfo info, saver->save(state_of(*to), {}, ranks_));
    ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, info.path));
    EXPECT_EQ(reader->manifest().has_base(), !reloaded);
    const std::unique_ptr<Trainer> back = tiny_trainer(job(2));
    ASSERT_OK_AND_ASSIGN(FoundCheckpoint found,
                         saver->restore_from(info.path, state_of(*back), ranks_));
    ASSERT_OK(back->restore(std::move(found.state), &notes_));
    EXPECT_EQ(table_of(*back).rows(), table_of(*to).rows());
    EXPECT_EQ(table_of(*back).content().digest(), table_of(*to).content().digest());
  }
}

// The last column belongs to the model: a new row has its initial value there, and an existing row
// keeps its learned value.
TEST_F(ModelBankTest, VectorsMayLackTheColumnThatTheModelAdds) {
  EmbeddingTableOptions options;
  options.name = "items";
  options.dim = 4;
  options.added_columns = 1;
  ASSERT_OK_AND_ASSIGN(const auto owned, EmbeddingTable::create(options));
  EmbeddingTable& table = *owned;
  TrainState state;
  state.tables = {&table};
  state.shared.mutable_progress()->set_step(0);
  files_.put("rows.txt", "777777 5 6 7\n888888 1 2 3\n");
  ModelBank bank(bank_config("source { path: \"rows.txt\" dynamic: true rows { table: \"items\" } "
                             "parts: WEIGHTS }"),
                 files_, 1);
  ASSERT_THAT(bank.reload(state, ranks_), IsOkAndHolds(true));
  const auto weights = [&](int64_t id) {
    RowIndex row = kNoRow;
    table.find({&id, 1}, {&row, 1});
    return table.content().mutable_row(row).weights();
  };
  std::vector<float> initial(4);
  for (const int64_t id : {777777, 888888}) {
    table.initial_row(id, absl::MakeSpan(initial));
    EXPECT_EQ(weights(id)[3], initial[3]);
  }
  EXPECT_EQ(weights(777777)[2], 7);
  weights(777777)[3] = 0.5;  // as training does
  files_.put("rows.txt", "777777 8 9 10\n999999 1 2 3\n");
  ASSERT_THAT(bank.reload(state, ranks_), IsOkAndHolds(true));
  EXPECT_EQ(weights(777777)[2], 10);
  EXPECT_EQ(weights(777777)[3], 0.5);
  table.initial_row(999999, absl::MakeSpan(initial));
  EXPECT_EQ(weights(999999)[3], initial[3]);
  EXPECT_EQ(weights(888888)[2], 3) << "it stays";
}

// The step of loaded rows must fit into the field of a row.
TEST_F(ModelBankTest, AStepThatRowsCannotNoteIsRefused) {
  const std::unique_ptr<Trainer> from = trained();
  TrainState state = state_of(*from);
  state.shared.mutable_progress()->set_step(int64_t{1} << 32);
  SaverOptions options;
  options.folder = kFolder;
  options.write_threads = 1;
  ASSERT_OK_AND_ASSIGN(const auto saver, Saver::create(options, files_, Clock::real()));
  ASSERT_OK(saver->save(state, {}, ranks_).status());
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  EXPECT_THAT(load("source { parts: [WEIGHTS, PROGRESS] }", *to),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("table items cannot note step 4294967296")));
}

TEST_F(ModelBankTest, WhatWasLoadedIsKnownAfterAResume) {
  save(*trained(job(2)));
  const ModelBankConfig config = bank_config("source { parts: WEIGHTS dynamic: true }");
  ModelBank bank(config, files_, 1), resumed(config, files_, 1);
  ObjectState state;
  ASSERT_OK(bank.save_state(state));
  EXPECT_TRUE(state.empty());
  const std::unique_ptr<Trainer> to = tiny_trainer(job());
  ASSERT_THAT(bank.reload(state_of(*to), ranks_), IsOkAndHolds(true));
  ASSERT_OK(bank.save_state(state));
  ASSERT_OK(resumed.load_state({&state, 1}));
  ASSERT_OK(to->train().status());
  const std::string before = text_of(*to);
  ASSERT_THAT(resumed.reload(state_of(*to), ranks_), IsOkAndHolds(false));
  EXPECT_EQ(text_of(*to), before);
  const ObjectState damaged = {1, "\x0a\xff"}, newer = {2, state.bytes};
  EXPECT_THAT(resumed.load_state({&damaged, 1}), StatusIs(kInvalid));
  EXPECT_THAT(resumed.load_state({&newer, 1}), StatusIs(kInvalid));
}

// An average of the former parameters would mislead evaluations.
TEST_F(ModelBankTest, AReloadOfParametersRestartsTheirAverage) {
  save(*trained(job(2)));
  TinyTrainerOptions averaged = job();
  averaged.moving_average.emplace();
  const std::unique_ptr<Trainer> to = trained(averaged);
  const auto updates = [&to] {
    std::vector<int64_t> counts;
    for (const NamedParameter& tensor : state_of(*to).optimizer_tensors()) {
      if (absl::EndsWith(tensor.name, "/average_updates")) {
        counts.push_back(tensor.value.item<int64_t>());
      }
    }
    return counts;
  };
  EXPECT_THAT(updates(), testing::Each(5));
  const std::vector<NamedParameter> before = state_of(*to).optimizer_tensors();
  ModelBank bank(bank_config("source { parts: WEIGHTS dynamic: true }"), files_, 1);
  ASSERT_THAT(bank.reload(state_of(*to), ranks_), IsOkAndHolds(true));
  EXPECT_THAT(updates(), testing::Each(0));
  // Optimizers keep their state.
  const std::vector<NamedParameter> after = state_of(*to).optimizer_tensors();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    if (absl::StrContains(before[i].name, "/average")) continue;
    EXPECT_TRUE(before[i].value.equal(after[i].value)) << before[i].name;
  }
}

TEST_F(ModelBankTest, AReloadThatFailsChangesNothing) {
  const std::string path = save(*trained(job(2)));
  const std::unique_ptr<Trainer> to = trained();
  ModelBank bank(bank_config("source { parts: WEIGHTS dynamic: true }"), files_, 1);
  const std::string file = path + "/dense-00000-of-00001.safetensors";
  ASSERT_OK_AND_ASSIGN(const std::string good, read_file(files_, file));
  std::string bad = good;
  bad.back() ^= 1;
  files_.put(file, bad);
  const std::string before = text_of(*to);
  EXPECT_THAT(bank.reload(state_of(*to), ranks_), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(text_of(*to), before);
  files_.put(file, good);
  ASSERT_THAT(bank.reload(state_of(*to), ranks_), IsOkAndHolds(true));
  EXPECT_NE(text_of(*to), before);
}

// Several ranks have dense models.
TEST_F(ModelBankTest, AllRanksLoadTheSameOrFailTogether) {
  TinyTrainerOptions dense = job();
  dense.train.sparse = 0;
  const std::unique_ptr<Trainer> from = trained(dense);
  save(*from);
  const std::string due = dense_text(*from);
  MemoryFileSystem empty;
  for (const bool one_is_blind : {false, true}) {
    const auto statuses = run_thread_ranks(
        {.world_size = 2}, [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
          const std::unique_ptr<Trainer> to = tiny_trainer(dense);
          ModelBank bank(bank_config("source { parts: WEIGHTS }"),
                         one_is_blind && ranks->rank() == 1 ? empty : files_, 1);
          ASSIGN_OR_RETURN(const LoadedState loaded, bank.load(state_of(*to), *ranks));
          std::string bytes;
          for (const NamedParameter& tensor : loaded.dense) {
            bytes += std::string(static_cast<const char*>(tensor.value.const_data_ptr()),
                                 tensor.value.nbytes());
          }
          EXPECT_EQ(bytes, due);
          EXPECT_EQ(loaded.ranks.size(), 2u);
          return absl::OkStatus();
        });
    for (const absl::Status& status : statuses) {
      if (one_is_blind) {
        EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr("rank 1")));
      } else {
        EXPECT_OK(status);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
