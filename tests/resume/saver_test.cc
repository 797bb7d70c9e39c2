// Tests saves and restores of a Saver, and failures: each has a name and changes nothing.
#include "checkpoint/saver.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/testing/crash_states_testing.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::HasSubstr;

constexpr char kFolder[] = "out/checkpoints";

TinyTrainerOptions small_job() {
  TinyTrainerOptions options;
  options.train = {.batches = 12, .batch_size = 6, .dense = 3, .sparse = 2, .ids = 60};
  options.optimizer = "adam";
  options.trainer.max_steps = 5;
  return options;
}

std::unique_ptr<Trainer> trained(TinyTrainerOptions options = small_job()) {
  std::unique_ptr<Trainer> trainer = tiny_trainer(std::move(options));
  EXPECT_OK(trainer->train().status());
  return trainer;
}

TrainState state_of(Trainer& trainer) {
  absl::StatusOr<TrainState> state = trainer.capture();
  EXPECT_OK(state.status());
  return *std::move(state);
}

class SaverTest : public testing::Test {
 protected:
  std::unique_ptr<Saver> saver(FileSystem& files, SaverOptions options = {}) {
    options.folder = kFolder;
    options.write_threads = 1;
    auto saver = Saver::create(std::move(options), files, Clock::real());
    EXPECT_OK(saver.status());
    return *std::move(saver);
  }
  absl::Status save(Trainer& trainer, FileSystem& files, SaverOptions options = {}) {
    return saver(files, std::move(options))->save(state_of(trainer), {}, ranks_).status();
  }
  // Restores into a new trainer of these options. Returns its state as text.
  absl::StatusOr<std::string> restored(FileSystem& files, SaverOptions options = {},
                                       TinyTrainerOptions job = small_job()) {
    const std::unique_ptr<Trainer> trainer = tiny_trainer(std::move(job));
    const std::string before = MemoryCheckpoint(state_of(*trainer)).to_string();
    auto found = saver(files, std::move(options))->restore(state_of(*trainer), ranks_);
    EXPECT_EQ(MemoryCheckpoint(state_of(*trainer)).to_string(), before) << "reading changed it";
    RETURN_IF_ERROR(found.status());
    if (!found->has_value()) return absl::NotFoundError("no checkpoint");
    notes_ = (*found)->notes;
    RETURN_IF_ERROR(trainer->restore(std::move((*found)->state), &notes_));
    return MemoryCheckpoint(state_of(*trainer)).to_string();
  }

  MemoryFileSystem files_;
  OneRankCollectives ranks_;
  std::vector<std::string> notes_;
};

TEST_F(SaverTest, WhatIsSavedComesBack) {
  const std::unique_ptr<Trainer> trainer = trained();
  const std::string whole = MemoryCheckpoint(state_of(*trainer)).to_string();
  ASSERT_OK_AND_ASSIGN(const CheckpointInfo info,
                       saver(files_)->save(state_of(*trainer), {{"eval/auc", 0.5}}, ranks_));
  EXPECT_EQ(info.path, "out/checkpoints/step-00000005");
  EXPECT_EQ(info.progress.step, 5);
  EXPECT_EQ(MemoryCheckpoint(state_of(*trainer)).to_string(), whole) << "saving changed it";
  ASSERT_OK_AND_ASSIGN(const std::string back, restored(files_));
  EXPECT_EQ(back, whole);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(SaverTest, ARowFilterAndDeltasAreRefused) {
  class All : public RowFilter {
   public:
    bool saves(const RowToSave&) const override { return true; }
  };
  SaverOptions options;
  options.folder = kFolder;
  options.row_filter.filter = std::make_shared<All>();
  EXPECT_OK(Saver::create(options, files_, Clock::real()).status());
  options.max_deltas = 3;
  EXPECT_THAT(Saver::create(options, files_, Clock::real()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_deltas")));
}

TEST_F(SaverTest, NoFolderIsNoCheckpoint) {
  EXPECT_THAT(restored(files_).status(), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(SaverTest, SavingAgainWritesNothing) {
  const std::unique_ptr<Trainer> trainer = trained();
  ASSERT_OK(save(*trainer, files_));
  const std::string path = "out/checkpoints/step-00000005/manifest.json";
  ASSERT_OK_AND_ASSIGN(const std::string before, read_file(files_, path));
  SaverOptions another;
  another.producer = "another program";  // not part of the content
  ASSERT_OK(save(*trainer, files_, another));
  ASSERT_OK_AND_ASSIGN(const std::string after, read_file(files_, path));
  EXPECT_EQ(before, after);
  ASSERT_OK_AND_ASSIGN(const auto all, list_checkpoints(files_, kFolder));
  EXPECT_EQ(all.size(), 1);
}

TEST_F(SaverTest, AStepThatIsThereIsComparedBeforeItIsWritten) {
  const std::unique_ptr<Trainer> trainer = trained();
  RecordingFileSystem files(files_);
  const std::unique_ptr<Saver> saver = this->saver(files);
  ASSERT_OK(saver->save(state_of(*trainer), {}, ranks_).status());
  const size_t operations = files.operations().size();
  files_.set_capacity(files_.used_bytes());  // no room, and none is needed
  ASSERT_OK_AND_ASSIGN(const CheckpointInfo info, saver->save(state_of(*trainer), {}, ranks_));
  EXPECT_EQ(info.path, "out/checkpoints/step-00000005");
  EXPECT_EQ(files.operations().size(), operations + 1) << "the folder is synced";
  // A damaged checkpoint is written again.
  files_.set_capacity(int64_t{1} << 40);
  const std::string path = info.path + "/dense-00000-of-00001.safetensors";
  ASSERT_OK_AND_ASSIGN(std::string content, read_file(files_, path));
  content.back() ^= 1;
  files_.put(path, content);
  ASSERT_OK(saver->save(state_of(*trainer), {}, ranks_).status());
  EXPECT_GT(files.operations().size(), operations + 2);
  SaverOptions read_only;
  read_only.read_only = true;
  EXPECT_OK(restored(files_, read_only).status());
}

TEST_F(SaverTest, AFolderThatAnotherRunFilledMeanwhileIsRefused) {
  const std::unique_ptr<Trainer> trainer = trained();
  const std::unique_ptr<Saver> early = saver(files_);
  ASSERT_OK_AND_ASSIGN(const auto none, early->restore(state_of(*trainer), ranks_));
  EXPECT_FALSE(none.has_value());
  ASSERT_OK(save(*trainer, files_));
  EXPECT_THAT(early->open(ranks_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another run has saved")));
  EXPECT_OK(restored(files_).status());
}

// The state of hooks may change without a step, for example by an evaluation; time always passes.
TEST_F(SaverTest, AnotherStateOfTheSameStepIsWritten) {
  const std::unique_ptr<Trainer> trainer = trained();
  RecordingFileSystem files(files_);
  const std::unique_ptr<Saver> saver = this->saver(files);
  TrainState state = state_of(*trainer);
  ASSERT_OK(saver->save(state, {}, ranks_).status());
  const size_t operations = files.operations().size();
  ProgressState& progress = *state.shared.mutable_progress();
  progress.set_elapsed_nanoseconds(progress.elapsed_nanoseconds() + 5);
  state.rank.mutable_report()->set_trained_nanoseconds(7);
  ASSERT_OK(saver->save(state, {}, ranks_).status());
  EXPECT_EQ(files.operations().size(), operations + 1) << "the folder is synced";
  state.shared.add_pending()->set_hook("early_stop");
  ASSERT_OK(saver->save(state, {}, ranks_).status());
  EXPECT_GT(files.operations().size(), operations + 2);
  ASSERT_OK_AND_ASSIGN(const auto found, saver->restore(state, ranks_));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->state.shared.pending_size(), 1);
}

// Returns a job whose tensors and rows take most of a checkpoint.
TinyTrainerOptions large_job() {
  TinyTrainerOptions options = small_job();
  options.train.batch_size = 500;
  options.train.ids = 5000;
  return options;
}

TEST_F(SaverTest, AnotherStateOfTheSameStepKeepsTheDataFiles) {
  const std::unique_ptr<Trainer> trainer = trained(large_job());
  RecordingFileSystem files(files_);
  const std::unique_ptr<Saver> saver = this->saver(files);
  TrainState state = state_of(*trainer);
  ASSERT_OK(saver->save(state, {}, ranks_).status());
  const size_t operations = files.operations().size();
  state.shared.add_pending()->set_hook("early_stop");
  constexpr int64_t kSmallFiles = 32 << 10;
  ASSERT_GT(files_.used_bytes(), 4 * kSmallFiles);
  files_.set_capacity(files_.used_bytes() + kSmallFiles);
  ASSERT_OK(saver->save(state, {{"eval/auc", 0.5}}, ranks_).status());
  const std::vector<FileOperation> all = files.operations();
  std::vector<std::string> linked, created;
  for (size_t i = operations; i < all.size(); ++i) {
    if (all[i].kind == FileOperation::Kind::kLink) linked.push_back(base_name(all[i].to));
    if (all[i].kind == FileOperation::Kind::kCreate) created.push_back(base_name(all[i].path));
  }
  EXPECT_THAT(linked, testing::ElementsAre("dense-00000-of-00001.safetensors",
                                           "table-items-00000-of-00001.safetensors"));
  EXPECT_THAT(created, testing::ElementsAre("state-00000-of-00001.pb", "chunks-00000-of-00001.xxh",
                                            "manifest.json"));
  ASSERT_OK_AND_ASSIGN(const auto found, saver->restore(state, ranks_));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->state.shared.pending_size(), 1);
  EXPECT_EQ(found->metrics.count("eval/auc"), 1u);
  // Other rows are written, and need space.
  state.tables[0]->content().mutable_row(0).weights()[0] += 1;
  EXPECT_THAT(saver->save(state, {}, ranks_),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("has room for")));
  SaverOptions read_only;
  read_only.read_only = true;
  EXPECT_OK(restored(files_, read_only, large_job()).status());
}

// The second save of a step is killed, or the machine stops, at any point.
TEST_F(SaverTest, NoCrashWhileFilesAreKeptLosesTheCheckpoint) {
  const std::unique_ptr<Trainer> trainer = trained();
  RecordingFileSystem files(files_);
  TrainState state = state_of(*trainer);
  {
    const std::unique_ptr<Saver> saver = this->saver(files);
    state.shared.set_finished(false);
    ASSERT_OK(saver->save(state, {}, ranks_).status());
    files.mark("saved");
    state.shared.set_finished(true);
    ASSERT_OK(saver->save(state, {}, ranks_).status());
    files.mark("finished");
  }
  ThreadPool threads(1);
  int64_t looked = 0;
  for_each_crash_state(files.operations(), {.max_states = 3'000}, [&](const CrashState& crash) {
    if (crash.marks.empty()) return true;
    ++looked;
    const auto newest = newest_checkpoint(*crash.files, kFolder, Check::kFull, threads);
    EXPECT_OK(newest.status()) << crash.what;
    EXPECT_TRUE(newest.ok() && !newest->chain.empty()) << crash.what;
    if (HasFailure()) return false;
    const bool finished = newest->chain.back()->manifest().finished();
    EXPECT_TRUE(finished || crash.marks.back() == "saved") << crash.what;
    return !HasFailure();
  });
  EXPECT_GT(looked, 150);
}

// The digest of a table's rows covers neither of them.
TEST_F(SaverTest, CandidatesAndEvictedIdsMakeAnotherState) {
  TinyTrainerOptions job = small_job();
  job.table.mutable_admission()->mutable_count()->set_min_count(2);
  const std::unique_ptr<Trainer> trainer = trained(job);
  RecordingFileSystem files(files_);
  const std::unique_ptr<Saver> saver = this->saver(files);
  const TrainState state = state_of(*trainer);
  const auto writes = [&] {
    const size_t before = files.operations().size();
    EXPECT_OK(saver->save(state, {}, ranks_).status());
    return files.operations().size() > before + 1;  // the folder is synced in any case
  };
  EXPECT_TRUE(writes());
  EXPECT_FALSE(writes());
  AdmissionState admission = state.tables[0]->content().admission_state();
  ASSERT_FALSE(admission.ids.empty());
  ++admission.counts[0];
  ASSERT_OK(state.tables[0]->content().set_admission_state(admission));
  EXPECT_TRUE(writes());
  EXPECT_FALSE(writes());
  EvictedLogState evicted = state.tables[0]->content().evicted_log();
  evicted.ids.push_back(12345);
  evicted.steps.push_back(5);
  ASSERT_OK(state.tables[0]->content().set_evicted_log(evicted));
  EXPECT_TRUE(writes());
  EXPECT_FALSE(writes());
}

// A checkpoint with damage that only a read finds does not count among the retained checkpoints.
TEST_F(SaverTest, WhatARestorePassedOverDoesNotCountForRetention) {
  SaverOptions options;
  options.retention.keep_last = 2;
  const auto at = [](int64_t step) {
    TinyTrainerOptions job = small_job();
    job.trainer.max_steps = step;
    return trained(job);
  };
  for (const int64_t step : {1, 2, 3}) ASSERT_OK(save(*at(step), files_));
  const std::string path = "out/checkpoints/step-00000003/dense-00000-of-00001.safetensors";
  ASSERT_OK_AND_ASSIGN(std::string content, read_file(files_, path));
  content.back() ^= 1;
  files_.put(path, content);
  const std::unique_ptr<Saver> saver = this->saver(files_, options);
  const std::unique_ptr<Trainer> trainer = tiny_trainer(small_job());
  ASSERT_OK_AND_ASSIGN(const auto found, saver->restore(state_of(*trainer), ranks_));
  ASSERT_EQ(found->info.progress.step, 2);
  ASSERT_OK(saver->save(state_of(*at(4)), {}, ranks_).status());
  ASSERT_OK_AND_ASSIGN(const auto all, list_checkpoints(files_, kFolder));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].step, 2);
}

TEST_F(SaverTest, AFileNamedAsACheckpointIsFoundWhenTheFolderIsOpened) {
  files_.put("out/checkpoints/step-00000005", "mine");
  EXPECT_THAT(saver(files_)->open(ranks_),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("out/checkpoints/step-00000005"), HasSubstr("move it"))));
}

TEST_F(SaverTest, TheBytesDoNotDependOnThreads) {
  const std::unique_ptr<Trainer> trainer = trained();
  std::vector<std::string> contents;
  for (const int threads : {1, 4}) {
    MemoryFileSystem files;
    SaverOptions options;
    options.folder = kFolder;
    options.write_threads = threads;
    FakeClock clock;
    ASSERT_OK_AND_ASSIGN(const auto saver, Saver::create(options, files, clock));
    ASSERT_OK(saver->save(state_of(*trainer), {}, ranks_).status());
    ASSERT_OK_AND_ASSIGN(std::string manifest,
                         read_file(files, "out/checkpoints/step-00000005/manifest.json"));
    contents.push_back(std::move(manifest));
  }
  EXPECT_EQ(contents[0], contents[1]);
}

TEST_F(SaverTest, AnotherModelIsRefusedWithAllDifferences) {
  ASSERT_OK(save(*trained(), files_));
  TinyTrainerOptions wider = small_job();
  wider.train.dense = 4;
  wider.optimizer = "sgd";
  EXPECT_THAT(restored(files_, {}, wider).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("another model"), HasSubstr("dense tensor"),
                             HasSubstr("slot exp_avg of the checkpoint is not in the model"))));
}

TEST_F(SaverTest, AnotherJobIsRefusedAndSaysInWhat) {
  SaverOptions then;
  then.fingerprint = "a";
  then.config = "seed: 1";
  ASSERT_OK(save(*trained(), files_, then));
  SaverOptions now;
  now.fingerprint = "b";
  now.config = "seed: 2";
  EXPECT_THAT(
      restored(files_, now).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("another job"), HasSubstr("seed: 1 → 2"), HasSubstr("output_dir"),
                     HasSubstr("train.model_bank with parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER, "
                               "PROGRESS, CURSOR, HOOKS] takes along"))));
}

TEST_F(SaverTest, AcceptedChangesAreReturnedAndOthersRefused) {
  SaverOptions then, now;
  then.fingerprint = "a";
  then.config = "feature { name: 'a' } feature { name: 'b' }";
  ASSERT_OK(save(*trained(), files_, then));
  now.fingerprint = "b";
  now.accept_changes = true;
  now.config = then.config + "micro_batches: 2";
  EXPECT_OK(restored(files_, now).status());
  now.config = "feature { name: 'b' } feature { name: 'a' }";
  EXPECT_THAT(restored(files_, now).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the order of entries")));
}

TEST_F(SaverTest, TheSecondWriterIsToldWhoHoldsTheLock) {
  const std::unique_ptr<Trainer> trainer = trained();
  const std::unique_ptr<Saver> first = saver(files_);
  ASSERT_OK(first->save(state_of(*trainer), {}, ranks_).status());
  EXPECT_THAT(save(*trainer, files_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("pid")));
}

// Another run takes the folder right before the lock is compared for the n-th time.
class TakenFileSystem : public MemoryFileSystem {
 public:
  void take_at(int comparison) { left_ = comparison; }
  bool taken() const { return taken_; }
  int late_changes() const { return late_changes_; }

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    if (base_name(path) == "lock" && left_-- == 0) {
      taken_ = true;
      put(path, "host b pid 7 since 2026-01-02T03:04:05Z\nrun another\n");
    }
    return MemoryFileSystem::open(path);
  }
  absl::Status rename(const std::string& from, const std::string& to) override {
    late_changes_ += taken_;
    return MemoryFileSystem::rename(from, to);
  }
  absl::Status remove(const std::string& path) override {
    late_changes_ += taken_;
    return MemoryFileSystem::remove(path);
  }

 private:
  int left_ = -1;
  bool taken_ = false;
  int late_changes_ = 0;
};

TEST_F(SaverTest, AFolderThatAnotherRunTookIsLeftAlone) {
  TinyTrainerOptions earlier = small_job();
  earlier.trainer.max_steps = 3;
  const std::unique_ptr<Trainer> first = trained(earlier), second = trained();
  TrainState other = state_of(*second);
  other.shared.add_pending()->set_hook("early_stop");
  SaverOptions options;
  options.retention.keep_last = 1;
  bool taken = true;
  int comparisons = 0;
  for (; taken; ++comparisons) {
    TakenFileSystem files;
    const std::unique_ptr<Saver> saver = this->saver(files, options);
    ASSERT_OK(saver->save(state_of(*first), {}, ranks_).status());
    files.take_at(comparisons);
    // A new step, after which the earlier one is removed, and another state of this step.
    for (const TrainState& state : {state_of(*second), other}) {
      const absl::Status status = saver->save(state, {}, ranks_).status();
      EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status;
    }
    taken = files.taken();
    EXPECT_EQ(files.late_changes(), 0) << comparisons;
    if (!taken) continue;
    EXPECT_THAT(saver->save(state_of(*first), {}, ranks_),
                StatusIs(absl::StatusCode::kAborted,
                         AllOf(HasSubstr("out/checkpoints was taken by another run"),
                               HasSubstr(": host b pid 7 since 2026-01-02T03:04:05Z;"))));
  }
  EXPECT_GE(comparisons, 8) << "each rename is preceded by one";
}

// Two checkpoints, the newer with a flipped byte in a file.
class DamagedTest : public SaverTest {
 protected:
  DamagedTest() {
    TinyTrainerOptions job = small_job();
    job.trainer.max_steps = 3;
    older_ = trained(job);
    EXPECT_OK(save(*older_, files_));
    EXPECT_OK(save(*trained(), files_));
  }
  void flip(const std::string& name, int64_t at) {
    const std::string path = join_path("out/checkpoints/step-00000005", name);
    auto content = read_file(files_, path);
    ASSERT_OK(content.status());
    (*content)[at < 0 ? content->size() + at : at] ^= 1;
    files_.put(path, *content);
  }
  std::unique_ptr<Trainer> older_;
};

TEST_F(DamagedTest, TheOneBeforeIsUsedWithANote) {
  flip("table-items-00000-of-00001.safetensors", -1);
  ASSERT_OK_AND_ASSIGN(const std::string back, restored(files_));
  EXPECT_EQ(back, MemoryCheckpoint(state_of(*older_)).to_string());
  ASSERT_FALSE(notes_.empty());
  EXPECT_THAT(notes_[0], AllOf(HasSubstr("step-00000005"), HasSubstr("table-items")));
}

TEST_F(DamagedTest, StrictRefuses) {
  flip("dense-00000-of-00001.safetensors", -1);
  SaverOptions strict;
  strict.on_damage = OnDamage::kStrict;
  EXPECT_THAT(restored(files_, strict).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("on_damage is STRICT"), HasSubstr("dense-00000"))));
}

TEST_F(DamagedTest, FilesAreNamedOnce) {
  const std::string file = "out/checkpoints/step-00000005/table-items-00000-of-00001.safetensors";
  flip("table-items-00000-of-00001.safetensors", -1);
  ASSERT_OK(restored(files_).status());
  ASSERT_EQ(notes_.size(), 1);
  EXPECT_EQ(notes_[0].find("passed over: table items: " + file + " is damaged between bytes 0"), 0)
      << notes_[0];
  EXPECT_EQ(notes_[0].find("step-00000005"), notes_[0].rfind("step-00000005"));
}

// Damage that does not affect the save is logged only at the first save.
TEST_F(DamagedTest, RetentionTellsOfDamageOnce) {
  ASSERT_OK(files_.create_directories("out/checkpoints/step-00000004"));
  const std::unique_ptr<Saver> writer = saver(files_);
  for (const char* expected : {"retained, but no run can resume from it: "
                               "out/checkpoints/step-00000004 is damaged: it has no manifest.json",
                               ""}) {
    testing::internal::CaptureStderr();
    ASSERT_OK(writer->save(state_of(*older_), {}, ranks_).status());
    const std::string logged = testing::internal::GetCapturedStderr();
    EXPECT_THAT(logged, HasSubstr(expected));
    if (*expected == '\0') {
      EXPECT_EQ(logged, "");
    }
  }
}

// Restores from another place: an output directory, or a folder of checkpoints.
TEST_F(DamagedTest, AnotherFolderFallsBackToo) {
  flip("dense-00000-of-00001.safetensors", -1);
  const std::unique_ptr<Trainer> trainer = tiny_trainer(small_job());
  SaverOptions options;
  options.write_threads = 1;
  options.folder = "another/checkpoints";
  for (const char* path : {"out", "out/checkpoints", "out/checkpoints/"}) {
    ASSERT_OK_AND_ASSIGN(const auto saver, Saver::create(options, files_, Clock::real()));
    ASSERT_OK_AND_ASSIGN(const FoundCheckpoint found,
                         saver->restore_from(path, state_of(*trainer), ranks_));
    EXPECT_EQ(found.info.path, "out/checkpoints/step-00000003");
    EXPECT_THAT(found.notes,
                testing::ElementsAre(AllOf(HasSubstr("step-00000005"), HasSubstr("dense-00000"))));
  }
  options.on_damage = OnDamage::kStrict;
  ASSERT_OK_AND_ASSIGN(const auto strict, Saver::create(options, files_, Clock::real()));
  EXPECT_THAT(strict->restore_from("out", state_of(*trainer), ranks_).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("step-00000005")));
  // A checkpoint that is named is not replaced by another.
  ASSERT_OK_AND_ASSIGN(const auto saver,
                       Saver::create(SaverOptions{.folder = "another"}, files_, Clock::real()));
  EXPECT_THAT(
      saver->restore_from("out/checkpoints/step-00000005", state_of(*trainer), ranks_).status(),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("dense-00000")));
}

TEST_F(DamagedTest, TheFirstRankChoosesForAll) {
  // The other rank sees one more checkpoint in the folder.
  MemoryFileSystem later;
  ASSERT_OK_AND_ASSIGN(const auto folders, files_.list("out/checkpoints"));
  for (const DirectoryEntry& folder : folders) {
    if (folder.name == "lock") continue;
    const std::string path = "out/checkpoints/" + folder.name;
    ASSERT_OK(later.create_directories(path));
    ASSERT_OK_AND_ASSIGN(const auto entries, files_.list(path));
    for (const DirectoryEntry& entry : entries) {
      ASSERT_OK_AND_ASSIGN(const std::string content, read_file(files_, path + "/" + entry.name));
      later.put(path + "/" + entry.name, content);
    }
  }
  TinyTrainerOptions job = small_job();
  job.trainer.max_steps = 7;
  ASSERT_OK(save(*trained(job), later));
  std::string paths[2];
  const auto statuses =
      run_thread_ranks({.world_size = 2}, [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
        const std::unique_ptr<Trainer> trainer = tiny_trainer(small_job());
        for (EmbeddingTable* table : state_of(*trainer).tables) {
          RETURN_IF_ERROR(table->set_placement({ranks->rank(), 2}));
        }
        FileSystem& files = ranks->rank() == 0 ? files_ : later;
        ASSIGN_OR_RETURN(const auto saver, Saver::create({.folder = "another", .write_threads = 1},
                                                         files, Clock::real()));
        ASSIGN_OR_RETURN(const FoundCheckpoint found,
                         saver->restore_from("out", state_of(*trainer), *ranks));
        paths[ranks->rank()] = found.info.path;
        return absl::OkStatus();
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
  EXPECT_EQ(paths[0], "out/checkpoints/step-00000005");
  EXPECT_EQ(paths[1], paths[0]);
}

TEST_F(SaverTest, AFolderWithoutCheckpointsIsNotFound) {
  ASSERT_OK(files_.create_directories("empty/checkpoints"));
  const std::unique_ptr<Trainer> trainer = tiny_trainer(small_job());
  for (const char* path : {"empty", "nowhere"}) {
    EXPECT_THAT(saver(files_)->restore_from(path, state_of(*trainer), ranks_).status(),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
  }
}

TEST_F(DamagedTest, EveryFlippedByteIsNoticed) {
  ASSERT_OK_AND_ASSIGN(const auto entries, files_.list("out/checkpoints/step-00000005"));
  SaverOptions strict;
  strict.on_damage = OnDamage::kStrict;
  int64_t flips = 0;
  for (const DirectoryEntry& entry : entries) {
    const std::string path = join_path("out/checkpoints/step-00000005", entry.name);
    ASSERT_OK_AND_ASSIGN(const std::string content, read_file(files_, path));
    // checkpoint_reader_test flips every byte; this test covers tables and tensors.
    for (size_t at = 0; at < content.size(); at += 1 + content.size() / 23) {
      std::string flipped = content;
      flipped[at] ^= 16;
      files_.put(path, flipped);
      EXPECT_THAT(restored(files_, strict).status(), StatusIs(absl::StatusCode::kDataLoss))
          << path << " at " << at;
      ++flips;
    }
    files_.put(path, content);
  }
  EXPECT_GT(flips, 60);
  EXPECT_OK(restored(files_, strict).status());
}

TEST_F(DamagedTest, IfNothingIsWholeNothingStartsAfresh) {
  flip("manifest.json", 100);
  files_.put("out/checkpoints/step-00000003/manifest.json", "{}");
  EXPECT_THAT(restored(files_).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("no checkpoint in out/checkpoints is whole"),
                             HasSubstr("step-00000005"))));
}

TEST_F(SaverTest, EveryFailingCallLeavesTheOlderOneAndTheNextSaveSucceeds) {
  const std::unique_ptr<Trainer> trainer = trained();
  TinyTrainerOptions job = small_job();
  job.trainer.max_steps = 3;
  const std::unique_ptr<Trainer> older = trained(job);
  const std::string whole = MemoryCheckpoint(state_of(*trainer)).to_string();
  const std::string before = MemoryCheckpoint(state_of(*older)).to_string();
  int64_t failures = 0;
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem under;
    ASSERT_OK(save(*older, under));
    FaultFileSystem files(under);
    files.fail(n, 1, absl::UnavailableError("injected"));
    const absl::Status status = save(*trainer, files);
    if (files.calls() <= n) break;
    ASSERT_OK_AND_ASSIGN(const std::string back, restored(under));
    if (status.ok()) {
      EXPECT_EQ(back, whole) << "after call " << n;
    } else {
      EXPECT_TRUE(back == before || back == whole) << "after call " << n << ": " << status;
      ++failures;
    }
    ASSERT_OK(save(*trainer, under)) << "after call " << n;
    ASSERT_OK_AND_ASSIGN(const std::string again, restored(under));
    EXPECT_EQ(again, whole);
  }
  EXPECT_GT(failures, 20);
}

TEST_F(SaverTest, AFolderThatIsRemovedIsMadeAgain) {
  TinyTrainerOptions job = small_job();
  job.trainer.max_steps = 3;
  const std::unique_ptr<Trainer> older = trained(job);
  const std::unique_ptr<Trainer> trainer = trained();
  SaverOptions options;
  options.run_folder = "out";
  std::unique_ptr<Saver> one = saver(files_, options);
  ASSERT_OK(one->save(state_of(*older), {}, ranks_));
  ASSERT_OK(remove_recursively(files_, "out"));
  ASSERT_OK(one->save(state_of(*trainer), {}, ranks_));
  EXPECT_THAT(save(*trainer, files_, options).message(), HasSubstr("another run writes in out"))
      << "it is locked as before";
  one.reset();
  EXPECT_THAT(restored(files_), IsOkAndHolds(MemoryCheckpoint(state_of(*trainer)).to_string()));
}

TEST_F(SaverTest, ARunWhoseFolderAnotherRunTookSavesNothing) {
  const std::unique_ptr<Trainer> trainer = trained();
  for (const bool read_only : {false, true}) {
    SaverOptions options;
    options.run_folder = "out";
    options.read_only = read_only;
    const std::unique_ptr<Saver> one = saver(files_, options);
    ASSERT_OK(one->open(ranks_));
    ASSERT_OK(one->open(ranks_));
    files_.put("out/lock", "host b pid 7 since 2026-01-02T03:04:05Z\nrun another\n");
    EXPECT_THAT(one->open(ranks_),
                StatusIs(absl::StatusCode::kAborted, HasSubstr("out was taken by another run")));
    if (read_only) continue;
    EXPECT_THAT(one->save(state_of(*trainer), {}, ranks_), StatusIs(absl::StatusCode::kAborted));
    EXPECT_FALSE(files_.info("out/checkpoints/step-00000005").ok());
  }
}

// Trainers that save after every step, through one saver. train() sets `end` to the final state.
class DeltaTest : public SaverTest {
 protected:
  void train(int64_t steps, SaverOptions options, std::string* end, bool save_at_end = false) {
    options.folder = kFolder;
    options.write_threads = 1;
    options.retention.keep_last = 1000;
    TinyTrainerOptions job = small_job();
    job.trainer.max_steps = steps;
    job.table.mutable_eviction()->set_idle_steps(2);
    job.trainer.save_at_end = save_at_end;
    job.trainer.report = {};
    job.clock = &clock_;
    TrainerParts parts = tiny_parts(job);
    ASSERT_OK_AND_ASSIGN(parts.saver, Saver::create(options, files_, Clock::real()));
    ASSERT_OK_AND_ASSIGN(const auto trainer, Trainer::create(job.trainer, std::move(parts)));
    EmbeddingTable* table = state_of(*trainer).tables[0];
    ASSERT_OK(trainer->add_hook(std::make_unique<RecordingHook>(
        &events_, [&](HookContext& context, absl::string_view event) {
          if (event != "after_step") return absl::OkStatus();
          context.requests().checkpoint();
          return table->maintenance().evict({.step = context.progress().step}).status();
        })));
    notes_.clear();
    ASSERT_OK(trainer->resume(&notes_).status());
    ASSERT_OK(trainer->train().status());
    *end = MemoryCheckpoint(state_of(*trainer)).to_string();
    const size_t finished = end->find("finished: true\n");  // after the last checkpoint
    ASSERT_NE(finished, std::string::npos);
    end->erase(finished, std::strlen("finished: true\n"));
  }
  std::vector<int> depths() {
    std::vector<int> depths;
    auto all = list_checkpoints(files_, kFolder);
    EXPECT_OK(all.status());
    for (const ListedCheckpoint& entry : *all) {
      EXPECT_OK(entry.status);
      depths.push_back(entry.reader->manifest().base().depth());
    }
    return depths;
  }
  FakeClock clock_;
  std::vector<std::string> events_;
};

TEST_F(DeltaTest, ChainsHaveALimitAndGiveTheWholeBack) {
  SaverOptions options;
  options.max_deltas = 3;
  std::string end;
  train(6, options, &end);
  EXPECT_THAT(depths(), testing::ElementsAre(0, 1, 2, 3, 0, 1));
  TinyTrainerOptions job = small_job();
  job.table.mutable_eviction()->set_idle_steps(2);
  ASSERT_OK_AND_ASSIGN(const std::string back, restored(files_, {}, job));
  EXPECT_EQ(back, end);
  // A resumed run makes deltas on its checkpoint.
  train(8, options, &end);
  EXPECT_THAT(depths(), testing::ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  ASSERT_OK_AND_ASSIGN(const std::string later, restored(files_, {}, job));
  EXPECT_EQ(later, end);
}

// The end of a run marks the last step as finished: the replaced checkpoint was a delta, and so is
// the new one.
TEST_F(DeltaTest, TheLastStepSavedAgainIsADeltaAgain) {
  SaverOptions options;
  options.max_deltas = 3;
  std::string end;
  train(3, options, &end, /*save_at_end=*/true);
  EXPECT_THAT(depths(), testing::ElementsAre(0, 1, 2));
  ASSERT_OK_AND_ASSIGN(const auto all, list_checkpoints(files_, kFolder));
  EXPECT_TRUE(all[2].reader->manifest().finished());
  EXPECT_EQ(all[2].reader->manifest().base().step(), 2);
  TinyTrainerOptions job = small_job();
  job.table.mutable_eviction()->set_idle_steps(2);
  ASSERT_OK_AND_ASSIGN(std::string back, restored(files_, {}, job));
  EXPECT_NE(back.find("finished: true"), std::string::npos);
  // A resumed run makes the next delta on the checkpoint, and compares the step saved again.
  train(4, options, &end, /*save_at_end=*/true);
  EXPECT_THAT(depths(), testing::ElementsAre(0, 1, 2, 3));
}

// A state that was read but not restored is not the base of the next delta.
TEST_F(DeltaTest, ADeltaIsMadeOnWhatWasPutInPlaceAlone) {
  SaverOptions options;
  options.max_deltas = 3;
  std::string end;
  train(2, options, &end);
  for (const bool put_in_place : {false, true}) {
    options.folder = kFolder;
    ASSERT_OK_AND_ASSIGN(const auto saver, Saver::create(options, files_, Clock::real()));
    TinyTrainerOptions job = small_job();
    job.table.mutable_eviction()->set_idle_steps(2);
    job.trainer.max_steps = put_in_place ? 4 : 3;
    const std::unique_ptr<Trainer> trainer = tiny_trainer(job);
    ASSERT_OK_AND_ASSIGN(
        const FoundCheckpoint found,
        saver->restore_from(std::string(kFolder) + "/step-00000002", state_of(*trainer), ranks_));
    if (put_in_place) saver->restored(found.info);
    ASSERT_OK(trainer->train().status());
    ASSERT_OK(saver->save(state_of(*trainer), {}, ranks_).status());
  }
  EXPECT_THAT(depths(), testing::ElementsAre(0, 1, 0, 2));
}

TEST_F(DeltaTest, ADeltaHoldsWhatChangedAlone) {
  SaverOptions options;
  options.max_deltas = 3;
  std::string end;
  train(4, options, &end);
  ASSERT_OK_AND_ASSIGN(const auto all, list_checkpoints(files_, kFolder));
  const auto rows_of = [](const CheckpointManifest& manifest) {
    int64_t rows = 0;
    for (const auto& file : manifest.files()) {
      for (const auto& tensor : file.tensors()) {
        if (tensor.name() == "table/items/ids") rows += tensor.shape(0);
      }
    }
    return rows;
  };
  for (const ListedCheckpoint& entry : all) {
    const CheckpointManifest& manifest = entry.reader->manifest();
    const int64_t whole = manifest.tables(0).rows();
    if (manifest.has_base()) {
      EXPECT_LE(rows_of(manifest), 12) << "ids of a step";
      EXPECT_LT(rows_of(manifest), whole);
    } else {
      EXPECT_EQ(rows_of(manifest), whole);
    }
  }
}

TEST_F(DeltaTest, ABaseThatIsDamagedIsNamed) {
  SaverOptions options;
  options.max_deltas = 9;
  std::string end;
  train(2, options, &end);
  EXPECT_THAT(depths(), testing::ElementsAre(0, 1));
  files_.put("out/checkpoints/step-00000001/manifest.json", "{}");
  EXPECT_THAT(restored(files_).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("step-00000001")));
}

TEST_F(SaverTest, AFullDiskIsRefusedBeforeTheFirstByte) {
  const std::unique_ptr<Trainer> trainer = trained();
  files_.set_capacity(2000);
  EXPECT_THAT(save(*trainer, files_),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("has room for")));
  ASSERT_OK_AND_ASSIGN(const auto entries, files_.list(kFolder));
  EXPECT_EQ(entries.size(), 1) << "only the lock";
}

}  // namespace
}  // namespace millrace
