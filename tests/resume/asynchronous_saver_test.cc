// Tests saves that are written during training.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/saver.h"
#include "distributed/forwarded_collectives.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/table_access.h"
#include "framework/trainer.h"
#include "tests/fakes/gated_file_system.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kFolder[] = "out/checkpoints";

// A trainer whose train() makes one step.
class StepByStep {
 public:
  explicit StepByStep(bool tables = true) {
    TinyTrainerOptions options;
    options.train = {.batches = 100, .batch_size = 6, .dense = 3, .sparse = 2, .ids = 60};
    if (!tables) options.train.sparse = 0;
    options.optimizer = "adam";
    options.table.mutable_admission()->mutable_count()->set_min_count(2);
    options.table.mutable_limit()->set_max_rows(25);
    options.table.mutable_limit()->set_on_full(LimitConfig::EVICT_LRU);
    options.clock = &clock_;
    trainer_ = tiny_trainer(std::move(options));
    EXPECT_OK(trainer_->add_hook(std::make_unique<RecordingHook>(
        &events_,
        [](HookContext& context, absl::string_view event) {
          if (event == "after_step") context.requests().stop("enough");
          return absl::OkStatus();
        },
        "stop")));
  }
  void step(int count = 1) {
    for (int i = 0; i < count; ++i) EXPECT_OK(trainer_->train().status());
  }
  TrainState state() {
    absl::StatusOr<TrainState> state = trainer_->capture();
    EXPECT_OK(state.status());
    return *std::move(state);
  }
  std::string text() { return MemoryCheckpoint(state()).to_string(); }
  Trainer& trainer() { return *trainer_; }

 private:
  FakeClock clock_;
  std::vector<std::string> events_;
  std::unique_ptr<Trainer> trainer_;
};

std::string path_of(int64_t step) { return absl::StrCat(kFolder, "/step-0000000", step); }

std::vector<std::string> paths(const std::vector<CheckpointInfo>& infos) {
  std::vector<std::string> result;
  for (const CheckpointInfo& info : infos) result.push_back(info.path);
  return result;
}

class AsynchronousSaverTest : public testing::Test {
 protected:
  std::unique_ptr<Saver> saver(FileSystem& files, int threads = 2, bool read_only = false) {
    SaverOptions options;
    options.asynchronous = true;
    options.read_only = read_only;
    options.folder = kFolder;
    options.write_threads = threads;
    auto saver = Saver::create(std::move(options), files, clock_);
    EXPECT_OK(saver.status());
    return *std::move(saver);
  }
  absl::Status begin(Saver& saver, StepByStep& job) { return saver.begin(job.state(), {}, ranks_); }

  // Returns the state of a new trainer that restores the newest checkpoint.
  absl::StatusOr<std::string> restored(FileSystem& files) {
    StepByStep job;
    OneRankCollectives ranks;
    ASSIGN_OR_RETURN(auto found, saver(files, 1, /*read_only=*/true)->restore(job.state(), ranks));
    if (!found.has_value()) return absl::NotFoundError("no checkpoint");
    std::vector<std::string> notes;
    RETURN_IF_ERROR(job.trainer().restore(std::move(found->state), &notes));
    return job.text();
  }

  FakeClock clock_;
  OneRankCollectives ranks_;
  StepByStep job_;
};

TEST_F(AsynchronousSaverTest, TheBytesAreThoseOfASynchronousSave) {
  for (const int threads : {1, 3}) {
    for (int round = 0; round < 4; ++round) {
      job_.step();
      MemoryFileSystem at_once;
      GatedFileSystem behind;
      {
        const auto saver = this->saver(at_once, threads);
        ASSERT_OK(saver->save(job_.state(), {{"eval/auc", 0.5}}, ranks_).status());
      }
      behind.hold("dense");
      {
        const auto saver = this->saver(behind, threads);
        ASSERT_OK(saver->begin(job_.state(), {{"eval/auc", 0.5}}, ranks_));
        job_.step(round * 2);  // with evictions and new rows
        EXPECT_FALSE(saver->ready());
        behind.release();
        EXPECT_THAT(saver->finish(ranks_), IsOkAndHolds(testing::SizeIs(1)));
        EXPECT_THAT(saver->finish(ranks_), IsOkAndHolds(IsEmpty()));
      }
      EXPECT_EQ(behind.fingerprint(), at_once.fingerprint()) << "round " << round;
    }
  }
}

TEST_F(AsynchronousSaverTest, IsThereOnceItIsDurableAndNotBefore) {
  GatedFileSystem files;
  const auto saver = this->saver(files);
  job_.step(2);
  const std::string state = job_.text();
  EXPECT_FALSE(saver->ready());
  files.hold("manifest.json");
  ASSERT_OK(begin(*saver, job_));
  std::vector<CheckpointInfo> durable;
  for (int polls = 0; polls < 2; ++polls) {
    job_.step();
    ASSERT_OK_AND_ASSIGN(durable, saver->poll(false, ranks_));
    EXPECT_THAT(durable, IsEmpty());
    ASSERT_OK_AND_ASSIGN(const auto list, list_checkpoints(files, kFolder));
    EXPECT_THAT(list, IsEmpty());
  }
  while (!saver->ready()) job_.step();
  EXPECT_THAT(saver->poll(true, ranks_), IsOkAndHolds(IsEmpty()));  // the save is committed here
  EXPECT_FALSE(saver->ready());
  files.release();
  while (!saver->ready()) job_.step();
  ASSERT_OK_AND_ASSIGN(durable, saver->poll(true, ranks_));
  EXPECT_THAT(paths(durable), ElementsAre(path_of(2)));
  EXPECT_EQ(durable[0].progress.step, 2);
  EXPECT_FALSE(saver->ready());
  EXPECT_THAT(saver->poll(false, ranks_), IsOkAndHolds(IsEmpty()));
}

TEST_F(AsynchronousSaverTest, TwoAreUnderWayAndEndInTheirOrder) {
  GatedFileSystem files;
  std::string second;
  {
    const auto saver = this->saver(files);
    job_.step();
    files.hold("chunks");  // the first write after reading
    ASSERT_OK(begin(*saver, job_));
    job_.step();
    second = job_.text();
    ASSERT_OK(begin(*saver, job_));
    job_.step();
    files.release();
    ASSERT_OK(begin(*saver, job_));  // waits for the first save
    job_.step();
    ASSERT_OK_AND_ASSIGN(const auto durable, saver->finish(ranks_));
    EXPECT_THAT(paths(durable), ElementsAre(path_of(1), path_of(2), path_of(3)));
  }
  ASSERT_OK(remove_checkpoint(files, path_of(3)));
  EXPECT_THAT(restored(files), IsOkAndHolds(second));
}

TEST_F(AsynchronousSaverTest, AStepIsNotWrittenTwice) {
  GatedFileSystem files;
  const auto saver = this->saver(files);
  job_.step();
  ASSERT_OK(begin(*saver, job_));
  ASSERT_OK(begin(*saver, job_));  // waits for the other save
  ASSERT_OK_AND_ASSIGN(auto durable, saver->finish(ranks_));
  EXPECT_THAT(paths(durable), ElementsAre(path_of(1), path_of(1)));
  const absl::uint128 once = files.fingerprint();
  files.fail("dense");
  ASSERT_OK(begin(*saver, job_));
  ASSERT_OK(saver->finish(ranks_).status());
  EXPECT_EQ(files.fingerprint(), once);
  files.fail("");
  job_.step();  // the tables are not frozen now
  ASSERT_OK(begin(*saver, job_));
  ASSERT_OK(saver->finish(ranks_).status());
}

TEST_F(AsynchronousSaverTest, WhatIsNotCommittedLeavesTheOneBefore) {
  GatedFileSystem files;
  job_.step();
  const std::string before = job_.text();
  {
    const auto saver = this->saver(files);
    ASSERT_OK(begin(*saver, job_));
    ASSERT_OK(saver->finish(ranks_).status());
    job_.step();
    ASSERT_OK(begin(*saver, job_));
    job_.step();
  }
  EXPECT_THAT(restored(files), IsOkAndHolds(before));
  const auto saver = this->saver(files);
  ASSERT_OK(begin(*saver, job_));
  ASSERT_OK(saver->finish(ranks_).status());
  ASSERT_OK_AND_ASSIGN(const auto entries, files.list(kFolder));
  EXPECT_EQ(entries.size(), 3) << "two checkpoints and the lock";
}

TEST_F(AsynchronousSaverTest, EveryFailingCallIsToldAndLeavesTheOneBefore) {
  job_.step();
  StepByStep older;
  older.step();
  const std::string before = older.text();
  job_.step();
  const std::string whole = job_.text();
  int64_t failures = 0;
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem under;
    {
      const auto saver = this->saver(under);
      ASSERT_OK(saver->save(older.state(), {}, ranks_).status());
    }
    FaultFileSystem files(under);
    files.fail(n, 1, absl::UnavailableError("injected"));
    absl::Status status;
    {
      const auto saver = this->saver(files, 1);
      status = begin(*saver, job_);
      if (status.ok()) status = saver->finish(ranks_).status();
      if (!status.ok()) {
        EXPECT_THAT(status.message(), AllOf(HasSubstr("saving step 2"), HasSubstr("injected")));
        EXPECT_FALSE(saver->ready());
        EXPECT_THAT(saver->finish(ranks_), IsOkAndHolds(IsEmpty())) << "told once";
      }
    }
    if (files.calls() <= n) break;
    ASSERT_OK_AND_ASSIGN(const std::string back, restored(under));
    if (status.ok()) {
      EXPECT_EQ(back, whole) << "after call " << n;
    } else {
      EXPECT_TRUE(back == before || back == whole) << "after call " << n << ": " << status;
      ++failures;
    }
    const auto saver = this->saver(under);
    ASSERT_OK(begin(*saver, job_)) << "after call " << n;
    ASSERT_OK(saver->finish(ranks_).status()) << "after call " << n;
    EXPECT_THAT(restored(under), IsOkAndHolds(whole)) << "after call " << n;
  }
  EXPECT_GT(failures, 15);
}

TEST_F(AsynchronousSaverTest, AFailureDoesNotHoldUpTheNextSave) {
  GatedFileSystem files;
  const auto saver = this->saver(files);
  job_.step();
  files.hold("chunks");
  ASSERT_OK(begin(*saver, job_));
  files.set_capacity(files.used_bytes() + 10);
  files.release();
  EXPECT_THAT(saver->finish(ranks_).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("saving step 1")));
  files.set_capacity(int64_t{1} << 40);
  job_.step();
  const std::string state = job_.text();
  ASSERT_OK(begin(*saver, job_));
  ASSERT_OK(saver->finish(ranks_).status());
  ASSERT_OK_AND_ASSIGN(const auto list, list_checkpoints(files, kFolder));
  EXPECT_EQ(list.size(), 1);
}

TEST_F(AsynchronousSaverTest, WhatBecameDurableIsToldAlsoIfTheNextOneFails) {
  GatedFileSystem files;
  const auto saver = this->saver(files);
  job_.step();
  ASSERT_OK(begin(*saver, job_));
  job_.step();
  files.fail("step-00000002");
  ASSERT_OK(begin(*saver, job_));
  EXPECT_THAT(saver->finish(ranks_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("saving step 2")));
  ASSERT_OK_AND_ASSIGN(const auto durable, saver->poll(false, ranks_));
  EXPECT_THAT(paths(durable), ElementsAre(path_of(1)));
  EXPECT_THAT(saver->poll(false, ranks_), IsOkAndHolds(IsEmpty())) << "told once";
}

// Moves the output directory during the write of the first save.
class MovedOutput : public MemoryFileSystem {
 public:
  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override {
    if (absl::StrContains(path, "chunks") && !moved_.exchange(true)) {
      RETURN_IF_ERROR(rename("out", "out.old"));
    }
    return MemoryFileSystem::create_new(path, size_bytes);
  }

 private:
  std::atomic<bool> moved_ = false;
};

TEST_F(AsynchronousSaverTest, AFolderThatIsMovedDuringASaveIsMadeAgain) {
  for (const bool asynchronous : {false, true}) {
    MovedOutput files;
    SaverOptions options;
    options.asynchronous = asynchronous;
    options.folder = kFolder;
    ASSERT_OK_AND_ASSIGN(const auto saver, Saver::create(options, files, clock_));
    job_.step();
    ASSERT_OK(begin(*saver, job_));
    ASSERT_OK_AND_ASSIGN(const auto first, saver->finish(ranks_));
    EXPECT_EQ(first.size(), asynchronous ? 0u : 1u) << "a synchronous saver still has the state";
    job_.step();
    ASSERT_OK(begin(*saver, job_));
    EXPECT_THAT(saver->finish(ranks_), IsOkAndHolds(testing::SizeIs(1)));
    EXPECT_THAT(restored(files), IsOkAndHolds(job_.text()));
  }
}

TEST_F(AsynchronousSaverTest, AFullDiskIsRefusedBeforeTheFirstByte) {
  MemoryFileSystem files;
  const auto saver = this->saver(files);
  job_.step(6);
  files.set_capacity(600);
  EXPECT_THAT(begin(*saver, job_),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("has room for")));
  ASSERT_OK_AND_ASSIGN(const auto entries, files.list(kFolder));
  EXPECT_EQ(entries.size(), 1) << "only the lock";
  job_.step();  // the tables are not frozen now
  files.set_capacity(int64_t{1} << 40);
  ASSERT_OK(begin(*saver, job_));
  ASSERT_OK(saver->finish(ranks_).status());
}

// A state of one table whose rows exceed the limit of an undo log.
class LargeTable {
 public:
  LargeTable() {
    EmbeddingTableOptions options;
    options.name = "items";
    options.dim = 4096;
    auto table = EmbeddingTable::create(std::move(options));
    EXPECT_OK(table.status());
    table_ = *std::move(table);
    for (int64_t id = 0; id < 2000; ++id) ids_.push_back(id);
    step();
  }
  // Makes a step that changes all rows.
  void step() {
    std::vector<RowIndex> rows(ids_.size());
    EXPECT_OK(table_->find_or_insert(ids_, absl::MakeSpan(rows)));
    TableWriteAccess(*table_).preserve(rows);
    for (const RowIndex row : rows) table_->content().mutable_row(row).weights()[0] += 1;
    table_->record_occurrences(++step_, rows, std::vector<uint32_t>(rows.size(), 1));
    table_->commit(step_);
  }
  TrainState state() {
    TrainState state;
    state.tables = {table_.get()};
    state.shared.mutable_progress()->set_step(step_);
    return state;
  }
  // Returns true if no row is retained for a snapshot.
  bool thawed() { return table_->content().thaw(); }

 private:
  std::unique_ptr<EmbeddingTable> table_;
  std::vector<int64_t> ids_;
  int64_t step_ = 0;
};

// A save that fails leaves no table frozen: steps do not wait, and the next save works.
TEST_F(AsynchronousSaverTest, ADirectoryThatCannotBeMadeIsToldAtOnceAndFreezesNothing) {
  LargeTable job;
  for (const bool asynchronous : {true, false}) {
    GatedFileSystem files;
    const auto saver = this->saver(files);
    ASSERT_OK(saver->open(ranks_));
    files.fail_directories("step-");
    for (int saves = 0; saves < 3; ++saves) {
      const absl::Status status = asynchronous ? saver->begin(job.state(), {}, ranks_)
                                               : saver->save(job.state(), {}, ranks_).status();
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                   AllOf(HasSubstr("saving step"), HasSubstr("injected"))));
      ASSERT_TRUE(job.thawed()) << "a step would wait for ever";
      EXPECT_FALSE(saver->ready());
    }
    job.step();
    files.fail_directories("");
    ASSERT_OK(saver->begin(job.state(), {}, ranks_));
    EXPECT_THAT(saver->finish(ranks_), IsOkAndHolds(testing::SizeIs(1)));
    ASSERT_OK_AND_ASSIGN(const auto list, list_checkpoints(files, kFolder));
    EXPECT_EQ(list.size(), 1);
  }
}

// An unwritable file is found later; the tables are not frozen from then on.
TEST_F(AsynchronousSaverTest, AFileThatCannotBeWrittenFreezesNothing) {
  LargeTable job;
  GatedFileSystem files;
  const auto saver = this->saver(files);
  for (const char* name : {"table-items", "state-"}) {
    files.fail(name);
    for (int saves = 0; saves < 2; ++saves) {
      ASSERT_OK(saver->begin(job.state(), {}, ranks_));
      job.step();  // waits until no thread reads the tables
      EXPECT_THAT(saver->finish(ranks_).status(),
                  StatusIs(absl::StatusCode::kUnavailable, HasSubstr("injected")));
      ASSERT_TRUE(job.thawed());
    }
  }
  files.fail("");
  ASSERT_OK(saver->begin(job.state(), {}, ranks_));
  EXPECT_THAT(saver->finish(ranks_), IsOkAndHolds(testing::SizeIs(1)));
}

TEST_F(AsynchronousSaverTest, AnAbandonedSaveEndsAndTheNextOneWorks) {
  LargeTable job;
  GatedFileSystem files;
  const auto saver = this->saver(files);
  files.hold("table-items");
  ASSERT_OK(saver->begin(job.state(), {}, ranks_));
  saver->abandon();
  files.release();
  EXPECT_THAT(saver->finish(ranks_).status(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("was abandoned")));
  ASSERT_OK(saver->begin(job.state(), {}, ranks_));
  EXPECT_THAT(saver->finish(ranks_), IsOkAndHolds(testing::SizeIs(1)));
}

// Returns a clock that does not advance, because the lock file contains the time of the lock.
FakeClock& standing_clock() {
  static FakeClock clock;
  return clock;
}

// Saves dense tensors on two ranks.
std::vector<absl::Status> save_on_two_ranks(FileSystem& files) {
  return run_thread_ranks({.world_size = 2}, [&](std::unique_ptr<Collectives> ranks) {
    StepByStep job(/*tables=*/false);
    job.step();
    SaverOptions options;
    options.asynchronous = true;
    options.folder = kFolder;
    ASSIGN_OR_RETURN(const auto saver, Saver::create(options, files, standing_clock()));
    RETURN_IF_ERROR(saver->begin(job.state(), {}, *ranks));
    std::vector<CheckpointInfo> durable;
    while (durable.empty()) {
      int64_t ready = saver->ready();
      RETURN_IF_ERROR(ranks->start_sum(absl::Span<int64_t>(&ready, 1))->wait());
      ASSIGN_OR_RETURN(durable, saver->poll(ready == 2, *ranks));
    }
    EXPECT_THAT(paths(durable), ElementsAre(path_of(1)));
    return saver->finish(*ranks).status();
  });
}

TEST(AsynchronousSaverOfTwoRanksTest, ItIsThereWhenAllHaveWritten) {
  MemoryFileSystem files;
  for (const absl::Status& status : save_on_two_ranks(files)) EXPECT_OK(status);
  ASSERT_OK_AND_ASSIGN(const auto list, list_checkpoints(files, kFolder));
  EXPECT_EQ(list.size(), 1);
}

TEST(AsynchronousSaverOfTwoRanksTest, WhatOneCannotWriteFailsOnAll) {
  GatedFileSystem files;
  files.fail("state-00001");
  for (const absl::Status& status : save_on_two_ranks(files)) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                 AllOf(HasSubstr("saving step 1"), HasSubstr("rank 1"),
                                       HasSubstr("injected"))));
  }
  ASSERT_OK_AND_ASSIGN(const auto list, list_checkpoints(files, kFolder));
  EXPECT_THAT(list, IsEmpty());
}

TEST(AsynchronousSaverOfTwoRanksTest, ADirectoryThatOneCannotMakeFailsOnAllAtOnce) {
  MemoryFileSystem disk;
  GatedFileSystem guilty;
  guilty.fail_directories("step-");
  const auto statuses =
      run_thread_ranks({.world_size = 2}, [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
        StepByStep job(/*tables=*/false);
        job.step();
        FileSystem& files = ranks->rank() == 0 ? static_cast<FileSystem&>(guilty) : disk;
        ASSIGN_OR_RETURN(const auto saver,
                         Saver::create({.folder = kFolder}, files, standing_clock()));
        const absl::Status begun = saver->begin(job.state(), {}, *ranks);
        EXPECT_THAT(begun, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("saving step 1")));
        return saver->finish(*ranks).status();
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status) << "told once";
  ASSERT_OK_AND_ASSIGN(const auto entries, guilty.list(kFolder));
  EXPECT_EQ(entries.size(), 1) << "only the lock";
}

// The content is known once every rank has reported its part.
TEST(AsynchronousSaverOfTwoRanksTest, AStepThatIsSavedIsNotWrittenAgain) {
  for (const bool asynchronous : {true, false}) {
    GatedFileSystem files;
    for (const absl::Status& status : save_on_two_ranks(files)) ASSERT_OK(status);
    const absl::uint128 once = files.fingerprint();
    files.fail("step-00000001");  // no file must be created
    const auto statuses = run_thread_ranks(
        {.world_size = 2}, [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
          StepByStep job(/*tables=*/false);
          job.step();
          ASSIGN_OR_RETURN(const auto saver,
                           Saver::create({.folder = kFolder}, files, standing_clock()));
          if (!asynchronous) return saver->save(job.state(), {}, *ranks).status();
          RETURN_IF_ERROR(saver->begin(job.state(), {}, *ranks));
          EXPECT_THAT(saver->finish(*ranks), IsOkAndHolds(testing::SizeIs(1)));
          return absl::OkStatus();
        });
    for (const absl::Status& status : statuses) EXPECT_OK(status) << asynchronous;
    EXPECT_EQ(files.fingerprint(), once) << asynchronous;
  }
}

// One rank's state differs from the saved state, but the tensors are equal, and their files stay.
TEST(AsynchronousSaverOfTwoRanksTest, AnotherStateOfOneRankIsWritten) {
  for (const bool asynchronous : {false, true}) {
    GatedFileSystem files;
    for (const absl::Status& status : save_on_two_ranks(files)) ASSERT_OK(status);
    const absl::uint128 once = files.fingerprint();
    files.fail("dense");  // the file must not be written again
    const auto statuses = run_thread_ranks(
        {.world_size = 2}, [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
          StepByStep job(/*tables=*/false);
          job.step();
          TrainState state = job.state();
          if (ranks->rank() == 1) state.rank.add_object()->set_name("more");
          ASSIGN_OR_RETURN(const auto saver,
                           Saver::create({.folder = kFolder}, files, standing_clock()));
          if (!asynchronous) return saver->save(state, {}, *ranks).status();
          RETURN_IF_ERROR(saver->begin(state, {}, *ranks));
          return saver->finish(*ranks).status();
        });
    for (const absl::Status& status : statuses) EXPECT_OK(status);
    EXPECT_NE(files.fingerprint(), once);
    ASSERT_OK_AND_ASSIGN(const auto list, list_checkpoints(files, kFolder));
    ASSERT_EQ(list.size(), 1u);
    EXPECT_OK(list[0].status);
  }
}

// Reports the begin of a wait for a save in an update, and the phase after that.
class WaitWatcher : public ForwardedCollectives {
 public:
  struct Seen {
    Mutex mutex;
    bool waits = false;
    std::optional<RankPhase> after;
    Collectives* other = nullptr;  // of rank 0
  };
  WaitWatcher(std::unique_ptr<Collectives> others, Seen& seen)
      : ForwardedCollectives(std::move(others)), seen_(seen) {}

  void set_phase(RankPhase phase, int64_t step) override {
    ForwardedCollectives::set_phase(phase, step);
    MutexLock lock(seen_.mutex);
    if (seen_.waits && !seen_.after.has_value()) seen_.after = phase;
    if (last_ == RankPhase::kUpdate && phase == RankPhase::kCheckpoint) seen_.waits = true;
    last_ = phase;
  }

 private:
  Seen& seen_;
  RankPhase last_ = RankPhase::kStart;
};

constexpr absl::Duration kRankTimeout = absl::Seconds(5);

// Trains two ranks, each with more rows than one block of an undo log holds. The disk of rank 1
// blocks its save after the first step, so that it waits for memory in the second. `act` is called
// then, on another thread.
std::vector<absl::Status> train_on_a_slow_disk(GatedFileSystem& files, WaitWatcher::Seen& seen,
                                               const std::function<void()>& act) {
  files.hold("table-items-00001");
  std::thread acting([&] {
    {
      MutexLock lock(seen.mutex);
      seen.mutex.await([&] { return seen.waits; });
    }
    act();
  });
  const auto train = [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
    TinyTrainerOptions options;
    const int rank = ranks->rank();
    options.train = {.batches = 3,
                     .batch_size = 20'000,
                     .rank = rank,
                     .world_size = 2,
                     .dense = 3,
                     .sparse = 2,
                     .ids = 20'000};
    options.optimizer = "adam";
    options.trainer.max_epochs = 1;
    options.trainer.save_at_end = false;
    TrainerParts parts = tiny_parts(options);
    SaverOptions saver;
    saver.asynchronous = true;
    saver.folder = kFolder;
    saver.write_threads = 1;
    saver.undo_share = 0;
    saver.least_undo_bytes = 1;
    ASSIGN_OR_RETURN(parts.saver, Saver::create(std::move(saver), files, standing_clock()));
    if (rank == 0) seen.other = ranks.get();
    parts.collectives =
        rank == 0 ? std::move(ranks) : std::make_unique<WaitWatcher>(std::move(ranks), seen);
    ASSIGN_OR_RETURN(const auto trainer, Trainer::create(options.trainer, std::move(parts)));
    std::vector<std::string> events;
    RETURN_IF_ERROR(trainer->add_hook(
        std::make_unique<RecordingHook>(&events, [](HookContext& context, absl::string_view event) {
          const bool saves = event == "after_step" && context.progress().step == 1;
          if (saves) context.requests().checkpoint();
          return absl::OkStatus();
        })));
    const absl::Status trained = trainer->train().status();
    if (rank == 1) files.release();  // the destructor waits for the file
    return trained;
  };
  const auto statuses = run_thread_ranks({.world_size = 2, .timeout = kRankTimeout}, train);
  acting.join();
  return statuses;
}

TEST(AsynchronousSaverOfTwoRanksTest, ARankThatWaitsForItsDiskInAStepIsNotAccused) {
  GatedFileSystem files;
  WaitWatcher::Seen seen;
  const auto statuses = train_on_a_slow_disk(files, seen, [&] {
    Clock::real().sleep(2 * kRankTimeout);
    files.release();
  });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
  EXPECT_EQ(seen.after, RankPhase::kUpdate);
  ASSERT_OK_AND_ASSIGN(const auto list, list_checkpoints(files, kFolder));
  EXPECT_EQ(list.size(), 1u);
}

TEST(AsynchronousSaverOfTwoRanksTest, AWaitForADiskEndsWithTheJob) {
  GatedFileSystem files;
  WaitWatcher::Seen seen;
  const auto statuses =
      train_on_a_slow_disk(files, seen, [&] { seen.other->fail(absl::InternalError("died")); });
  for (const absl::Status& status : statuses) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, HasSubstr("rank 0 failed in")));
  }
  ASSERT_OK_AND_ASSIGN(const auto list, list_checkpoints(files, kFolder));
  EXPECT_THAT(list, IsEmpty());
}

}  // namespace
}  // namespace millrace
