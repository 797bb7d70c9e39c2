// Tests content omitted by savers: the model bank gives the content again, or it begins again and
// is named.
#include <google/protobuf/text_format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/bank/model_bank.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/saver.h"
#include "checkpoint/state/row_filter.h"
#include "distributed/one_rank_collectives.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kFolder[] = "out/checkpoints";
constexpr char kVectors[] = "vectors.txt";  // rows of all ids

class SaveFilterTest : public testing::Test {
 protected:
  SaveFilterTest() {
    std::string text;
    for (int id = -60; id < 120; ++id) {
      text += std::to_string(id);
      for (int d = 0; d < 4; ++d) text += " " + std::to_string(0.01 * id + 0.1 * d);
      text += "\n";
    }
    files_.put(kVectors, text);
  }

  std::unique_ptr<Trainer> make(int64_t steps) {
    TinyTrainerOptions options;
    options.train = {.batches = 12, .batch_size = 6, .dense = 3, .sparse = 2, .ids = 60};
    options.optimizer = "adam";
    options.table.set_frozen(frozen_);
    options.trainer.max_steps = steps;
    TrainerParts parts = tiny_parts(options);
    SaverOptions saver = saver_;
    saver.folder = kFolder;
    auto made = Saver::create(saver, files_, Clock::real());
    EXPECT_OK(made.status());
    parts.saver = *std::move(made);
    if (!bank_.empty()) {
      ModelBankConfig config;
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(bank_, &config)) << bank_;
      parts.model_bank = std::make_unique<ModelBank>(config, files_, 1);
    }
    options.trainer.save_at_end = true;
    auto trainer = Trainer::create(options.trainer, std::move(parts));
    created_ = trainer.status();
    return trainer.ok() ? *std::move(trainer) : nullptr;
  }
  // Begins or resumes training, up to this step.
  std::unique_ptr<Trainer> trained_to(int64_t step) {
    std::unique_ptr<Trainer> trainer = make(step);
    notes_.clear();
    const auto from = trainer->resume(&notes_);
    EXPECT_OK(from.status());
    if (from.ok() && !from->has_value()) {
      EXPECT_OK(trainer->load_model_bank(&notes_));
    }
    EXPECT_OK(trainer->train().status());
    return trainer;
  }
  std::string whole_text(Trainer& trainer) {
    auto state = trainer.capture();
    EXPECT_OK(state.status());
    state->shared.mutable_progress()->clear_elapsed_nanoseconds();
    state->rank.mutable_report()->clear_trained_nanoseconds();
    state->rank.mutable_report()->clear_data_wait_nanoseconds();
    return MemoryCheckpoint(*state).to_string();
  }
  CheckpointManifest newest() {
    const auto listed = list_checkpoints(files_, kFolder);
    EXPECT_OK(listed.status());
    return listed->back().reader->manifest();
  }

  MemoryFileSystem files_;
  SaverOptions saver_;
  std::string bank_;
  bool frozen_ = false;
  absl::Status created_;
  std::vector<std::string> notes_;
};

constexpr char kRows[] =
    "source { path: 'vectors.txt' rows { table: 'items' } allow_missing: '*' }";

TEST_F(SaveFilterTest, AFrozenTableIsLoadedAgainAndNothingTells) {
  bank_ = kRows;
  frozen_ = true;
  const std::string undisturbed = whole_text(*trained_to(9));
  for (const bool asynchronous : {false, true}) {
    ASSERT_OK(remove_recursively(files_, kFolder));
    saver_.exclude = {"items"};
    saver_.asynchronous = asynchronous;
    trained_to(4);
    EXPECT_THAT(newest().left_out(), ElementsAre("items"));
    EXPECT_THAT(newest().tables(), IsEmpty());
    ASSERT_EQ(newest().referred_files_size(), 1) << "what training began with";
    EXPECT_THAT(newest().referred_files(0).path(), HasSubstr(kVectors));
    EXPECT_THAT(newest().referred_files(0).used_by(), ElementsAre("table/items"));
    EXPECT_EQ(whole_text(*trained_to(9)), undisturbed);
    EXPECT_THAT(notes_, IsEmpty());
    EXPECT_EQ(newest().referred_files_size(), 1) << "also after a resume";
  }
}

TEST_F(SaveFilterTest, OtherRowsThanTrainingBeganWithAreRefused) {
  bank_ = kRows;
  frozen_ = true;
  saver_.exclude = {"items"};
  trained_to(4);
  const std::string good = *read_file(files_, kVectors);
  files_.put(kVectors, good + "999 1 2 3 4\n");
  EXPECT_THAT(make(9)->resume(&notes_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("vectors.txt is not what training began with"),
                             HasSubstr("dynamic"))));
  files_.put(kVectors, good);
  EXPECT_OK(make(9)->resume(&notes_).status());
}

TEST_F(SaveFilterTest, AFinishedRunNeedsNothing) {
  bank_ = kRows;
  saver_.exclude = {"items"};
  trained_to(4);
  ASSERT_OK(files_.remove(kVectors));
  const std::unique_ptr<Trainer> trainer = make(4);
  ASSERT_OK(trainer->resume(&notes_).status());
  EXPECT_TRUE(trainer->finished().has_value());
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(SaveFilterTest, WithoutABankItBeginsAnewAndIsNamed) {
  saver_.exclude = {"items", "*bias"};
  trained_to(4);
  const std::unique_ptr<Trainer> trainer = make(9);
  ASSERT_OK_AND_ASSIGN(const auto from, trainer->resume(&notes_));
  ASSERT_TRUE(from.has_value());
  ASSERT_EQ(notes_.size(), 1);
  EXPECT_THAT(notes_[0], AllOf(HasSubstr("step-00000004 was saved without "), HasSubstr("bias"),
                               HasSubstr("items, which begin anew")));
  EXPECT_EQ(trainer->progress().step, 4);
  ASSERT_OK_AND_ASSIGN(const TrainState state, trainer->capture());
  EXPECT_EQ(state.tables[0]->rows(), 0);
  ASSERT_OK(trainer->train().status());
  EXPECT_GT(state.tables[0]->rows(), 0);
}

TEST_F(SaveFilterTest, ABankFillsNothingButWhatIsMissing) {
  bank_ = kRows;
  saver_.exclude = {"items"};
  std::unique_ptr<Trainer> trainer = trained_to(4);
  std::vector<NamedParameter> then = trainer->capture()->dense;
  trainer = make(9);
  ASSERT_OK(trainer->resume(&notes_).status());
  EXPECT_THAT(notes_, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const TrainState now, trainer->capture());
  for (size_t i = 0; i < then.size(); ++i) {
    EXPECT_TRUE(then[i].value.equal(now.dense[i].value)) << then[i].name;
  }
  const TableRows rows = now.tables[0]->content().export_rows();
  EXPECT_EQ(rows.ids.size(), 180);
  EXPECT_EQ(rows.last_step, std::vector<int64_t>(180, 4)) << "seen where training goes on";
  trainer.reset();
  files_.put(kVectors, "1 2\n");
  EXPECT_THAT(make(9)->resume(&notes_).status(),
              StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("the model bank, for what "),
                                                          HasSubstr("vectors.txt: line 1"))));
}

TEST_F(SaveFilterTest, DeltasStandOnWhatLacksTheSame) {
  saver_.max_deltas = 5;
  saver_.exclude = {"*bias"};
  trained_to(3);
  EXPECT_FALSE(newest().has_base());
  trained_to(5);
  EXPECT_TRUE(newest().has_base());
  saver_.exclude = {"items"};
  trained_to(6);
  EXPECT_FALSE(newest().has_base()) << "the other parts of the model are in none before it";
  EXPECT_THAT(newest().left_out(), ElementsAre("items"));
  saver_.exclude = {};
  trained_to(7);
  EXPECT_FALSE(newest().has_base());
  EXPECT_THAT(newest().left_out(), IsEmpty());
}

TEST_F(SaveFilterTest, RowsThatAFilterOmitsBeginAnewAndAreCounted) {
  RowFilterConfig config;
  config.mutable_frequency()->set_min_frequency(2);
  for (const bool asynchronous : {false, true}) {
    SCOPED_TRACE(asynchronous);
    if (asynchronous) ASSERT_OK(remove_recursively(files_, kFolder));
    saver_.asynchronous = asynchronous;
    saver_.row_filter = *create_row_filter(config);
    std::map<int64_t, int64_t> frequent;  // the rows that are saved
    int64_t omitted = 0;
    {
      const std::unique_ptr<Trainer> before = trained_to(4);
      ASSERT_OK_AND_ASSIGN(const TrainState state, before->capture());
      const TableRows rows = state.tables[0]->content().export_rows();
      for (size_t i = 0; i < rows.ids.size(); ++i) {
        if (rows.frequency[i] >= 2) {
          frequent[rows.ids[i]] = rows.frequency[i];
        } else {
          ++omitted;
        }
      }
    }
    ASSERT_GT(omitted, 0);
    ASSERT_FALSE(frequent.empty());
    EXPECT_EQ(newest().tables(0).rows(), static_cast<int64_t>(frequent.size()));
    EXPECT_EQ(newest().tables(0).omitted_rows(), omitted);
    const std::unique_ptr<Trainer> after = make(9);
    notes_.clear();
    ASSERT_OK(after->resume(&notes_).status());
    EXPECT_THAT(notes_, ElementsAre(AllOf(HasSubstr("step-00000004 was saved without "),
                                          HasSubstr("rows of table items"),
                                          HasSubstr("which begin with initial values"))));
    ASSERT_OK_AND_ASSIGN(const TrainState state, after->capture());
    const TableRows rows = state.tables[0]->content().export_rows();
    std::map<int64_t, int64_t> there;
    for (size_t i = 0; i < rows.ids.size(); ++i) there[rows.ids[i]] = rows.frequency[i];
    EXPECT_EQ(there, frequent);
    ASSERT_OK(after->train().status());
    EXPECT_GT(state.tables[0]->rows(), static_cast<int64_t>(frequent.size()))
        << "rows that begin anew";
  }
}

TEST_F(SaveFilterTest, PatternsAreCheckedBeforeAnythingElse) {
  saver_.exclude = {"itens"};
  EXPECT_EQ(make(3), nullptr);
  EXPECT_THAT(created_, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("\"itens\""), HasSubstr("items"))));
  saver_.exclude = {};
  RowFilterConfig config;
  config.mutable_frequency()->set_min_frequency(2);
  config.add_table("itens");
  saver_.row_filter = *create_row_filter(config);
  EXPECT_EQ(make(3), nullptr);
  EXPECT_THAT(created_, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("\"itens\""), HasSubstr("items"))));
}

TEST_F(SaveFilterTest, AVocabularyThatChangedIsAnotherJob) {
  CheckpointManifest::ReferredFile words;
  words.set_path("/words");
  words.set_size(3);
  words.set_digest(std::string(32, '1'));
  words.add_used_by("feature/a/transform/0");
  saver_.vocabularies = {words};
  trained_to(2);
  ASSERT_EQ(newest().referred_files_size(), 1);
  trained_to(3);
  saver_.vocabularies[0].set_digest(std::string(32, '2'));
  EXPECT_THAT(make(9)->resume(&notes_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("step-00000003"), HasSubstr("/words"))));
}

}  // namespace
}  // namespace millrace
