// Tests the common save of several ranks when an evaluation fails on one of them.
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/failure_kind.h"
#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/saver.h"
#include "checkpoint/state/checkpointable.h"
#include "distributed/thread_collectives.h"
#include "framework/trainer.h"
#include "tests/fakes/fake_dataset.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kRanks = 2;

// A job that evaluates after step 3 of 6.
struct RankJob {
  bool table = false;  // over the ranks
  bool asynchronous = false;
  bool resume = false;
  int evaluation_fails_on = -1;          // a rank, in reading the data
  int lookups_fail_on = -1;              // a rank, in evaluations
  bool throws = false;                   // throws instead of returning an error
  bool aborted = false;                  // the error has this code
  std::string hook_fails_in;             // an event of rank 1's hook
  int capture_fails_on = -1;             // a rank
  FileSystem* disk_of_rank_1 = nullptr;  // null: the disk of rank 0
};

struct RankOutcome {
  absl::Status status;
  std::string state;  // after a successful run
  Summary summary;
};

// An object of the job that cannot be saved.
class Unsavable : public Checkpointable {
 public:
  explicit Unsavable(bool fails) : fails_(fails) {}
  absl::Status save_state(ObjectState&) const override {
    return fails_ ? absl::InternalError("capture fails") : absl::OkStatus();
  }
  absl::Status load_state(absl::Span<const ObjectState>) override { return absl::OkStatus(); }

 private:
  const bool fails_;
};

// Evaluation data that fails otherwise than by DataLoss.
class FailingData : public FakeDataset {
 public:
  explicit FailingData(bool throws) : FakeDataset({}), throws_(throws) {}
  absl::StatusOr<std::optional<Batch>> next() override {
    if (throws_) throw std::runtime_error("fake data is damaged");
    return absl::AbortedError("fake data is damaged");
  }

 private:
  const bool throws_;
};

absl::Status train_rank(const RankJob& job, FileSystem& files,
                        std::unique_ptr<Collectives> collectives, RankOutcome& outcome) {
  const int rank = collectives->rank();
  FakeClock clock;
  TinyTrainerOptions options;
  options.optimizer = "adam";
  options.train = {.batches = 6, .batch_size = 12, .dense = 3};
  options.train.rank = rank;
  options.train.world_size = collectives->world_size();
  if (job.table) {
    options.train.sparse = 2;
    options.train.ids = 60;
  }
  if (job.evaluation_fails_on == rank) options.eval.fail_at = 1;
  options.trainer.max_epochs = 1;
  options.trainer.report = {};
  options.clock = &clock;
  TrainerParts parts = tiny_parts(options);
  if (job.evaluation_fails_on == rank && (job.throws || job.aborted)) {
    parts.evaluation_sets[0].data = std::make_unique<FailingData>(job.throws);
  }
  auto& model = static_cast<TinyModel&>(*parts.model);
  model.on_lookups = [&](std::vector<TableLookup>&) {
    const bool fails = job.lookups_fail_on == rank && !model.is_training();
    return fails ? absl::DataLossError("fake data is damaged") : absl::OkStatus();
  };
  SaverOptions saver;
  saver.folder = "c";
  saver.write_threads = 1;
  saver.asynchronous = job.asynchronous;
  ASSIGN_OR_RETURN(parts.saver, Saver::create(std::move(saver), files, Clock::real()));
  parts.collectives = std::move(collectives);
  Unsavable object(job.capture_fails_on == rank);
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                   Trainer::create(options.trainer, std::move(parts)));
  RETURN_IF_ERROR(trainer->add_state("object", object, StatePlacement::kPerRank));
  std::vector<std::string> events, notes;
  RETURN_IF_ERROR(trainer->add_hook(
      std::make_unique<RecordingHook>(&events, [&](HookContext& context, absl::string_view event) {
        if (event == "after_step" && context.progress().step == 3) context.requests().evaluate();
        const bool fails = rank == 1 && event == job.hook_fails_in;
        return fails ? absl::InternalError("the hook fails") : absl::OkStatus();
      })));
  if (job.resume) RETURN_IF_ERROR(trainer->resume(&notes).status());
  outcome.status = trainer->train().status();
  outcome.summary = trainer->summary();
  if (!outcome.status.ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TrainState state, trainer->capture());
  outcome.state = MemoryCheckpoint(state).to_string();
  return absl::OkStatus();
}

class RankSaveTest : public testing::TestWithParam<bool> {
 protected:
  std::vector<RankOutcome> train(RankJob job) {
    job.asynchronous = GetParam();
    std::vector<RankOutcome> outcomes(kRanks);
    const auto statuses =
        run_thread_ranks({.world_size = kRanks}, [&](std::unique_ptr<Collectives> ranks) {
          const int rank = ranks->rank();
          FileSystem& files = rank == 1 && job.disk_of_rank_1 != nullptr
                                  ? *job.disk_of_rank_1
                                  : static_cast<FileSystem&>(disk_);
          return train_rank(job, files, std::move(ranks), outcomes[rank]);
        });
    for (const absl::Status& status : statuses) EXPECT_OK(status);
    return outcomes;
  }
  // Makes an evaluation fail on each rank, which is set by `guilty`, and resumes from the
  // checkpoint.
  void expect_no_step_is_lost(const RankJob& job, int RankJob::*guilty) {
    const std::vector<RankOutcome> whole = train(job);
    for (const RankOutcome& rank : whole) ASSERT_OK(rank.status);
    for (int failing = 0; failing < kRanks; ++failing) {
      SCOPED_TRACE(absl::StrCat("rank ", failing));
      ASSERT_OK(remove_recursively(disk_, "c"));
      RankJob fails = job, resumes = job;
      fails.*guilty = failing;
      resumes.resume = true;
      expect_saved_at_step_3(train(fails), failing);
      if (job.table) expect_rows_of_all_ranks();
      const std::vector<RankOutcome> resumed = train(resumes);
      for (int rank = 0; rank < kRanks; ++rank) {
        ASSERT_OK(resumed[rank].status);
        EXPECT_EQ(resumed[rank].summary.eval_step.at("eval"), 3) << "it is made first";
        EXPECT_EQ(resumed[rank].state, whole[rank].state) << "rank " << rank;
      }
    }
  }

  void expect_saved_at_step_3(const std::vector<RankOutcome>& failed, int guilty) {
    EXPECT_EQ(kind_of(failed[guilty].status), FailureKind::kEvaluation);
    EXPECT_THAT(failed[1 - guilty].status, StatusIs(absl::StatusCode::kAborted));
    for (const RankOutcome& rank : failed) {
      EXPECT_THAT(std::string(rank.status.message()),
                  HasSubstr("fake data is damaged; training is saved up to step 3 in "
                            "c/step-00000003: mend what the evaluation lacks"));
      EXPECT_EQ(rank.summary.checkpoint, "c/step-00000003");
    }
    EXPECT_THAT(checkpoints(), ElementsAre("c/step-00000003"));
  }

  // Expects that the newest checkpoint is whole and has rows of each rank.
  void expect_rows_of_all_ranks() {
    ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(disk_, "c"));
    const CheckpointReader& reader = *listed.back().reader;
    ThreadPool threads(1);
    EXPECT_OK(reader.verify(threads));
    EXPECT_FALSE(reader.manifest().has_base());
    EXPECT_GT(reader.manifest().tables(0).rows(), 0);
    int files = 0;
    for (const auto& file : reader.manifest().files()) {
      if (file.kind() == CheckpointManifest::TABLE_FILE) ++files;
    }
    EXPECT_EQ(files, kRanks);
  }

  std::vector<std::string> checkpoints() {
    std::vector<std::string> paths;
    const auto listed = list_checkpoints(disk_, "c");
    EXPECT_OK(listed.status());
    for (const ListedCheckpoint& checkpoint : *listed) {
      EXPECT_OK(checkpoint.status);
      paths.push_back(checkpoint.path);
    }
    return paths;
  }

  MemoryFileSystem disk_;
};

INSTANTIATE_TEST_SUITE_P(Savers, RankSaveTest, testing::Bool(), [](const auto& info) {
  return info.param ? "Asynchronous" : "Synchronous";
});

TEST_P(RankSaveTest, AFailedEvaluationCostsNoStep) {
  expect_no_step_is_lost({}, &RankJob::evaluation_fails_on);
}

TEST_P(RankSaveTest, NorOneOfAJobWithATable) {
  expect_no_step_is_lost({.table = true}, &RankJob::evaluation_fails_on);
}

// The exchange of ids reports the failure to the other ranks.
TEST_P(RankSaveTest, NorOneWhoseLookupsFail) {
  expect_no_step_is_lost({.table = true}, &RankJob::lookups_fail_on);
}

TEST_P(RankSaveTest, HoweverItFails) {
  for (const bool throws : {true, false}) {
    for (const int guilty : {0, 1}) {
      SCOPED_TRACE(absl::StrCat(throws ? "an exception" : "Aborted", " on rank ", guilty));
      if (disk_.info("c").ok()) ASSERT_OK(remove_recursively(disk_, "c"));
      const std::vector<RankOutcome> failed =
          train({.evaluation_fails_on = guilty, .throws = throws, .aborted = !throws});
      EXPECT_EQ(kind_of(failed[guilty].status), FailureKind::kEvaluation);
      for (const RankOutcome& rank : failed) {
        EXPECT_THAT(std::string(rank.status.message()),
                    AllOf(HasSubstr("fake data is damaged"),
                          HasSubstr("training is saved up to step 3 in c/step-00000003")));
      }
      EXPECT_THAT(checkpoints(), ElementsAre("c/step-00000003"));
    }
  }
}

// The state may be changed in part, so no rank saves.
TEST_P(RankSaveTest, AFailureOutsideAnEvaluationIsNotSaved) {
  for (const char* event : {"after_evaluate", "after_step"}) {
    for (const RankOutcome& rank : train({.hook_fails_in = event})) {
      EXPECT_THAT(std::string(rank.status.message()), HasSubstr("the hook fails"));
      EXPECT_THAT(std::string(rank.status.message()), Not(HasSubstr("training is saved")));
    }
    EXPECT_THAT(checkpoints(), IsEmpty()) << event;
  }
}

// No rank waits for a rank that cannot save.
TEST_P(RankSaveTest, WhatOneRankCannotSaveIsSavedByNone) {
  const auto expect_nothing_saved = [&](const RankJob& job) {
    for (const RankOutcome& rank : train(job)) {
      EXPECT_THAT(std::string(rank.status.message()),
                  AllOf(HasSubstr("fake data is damaged"), Not(HasSubstr("training is saved"))));
    }
    EXPECT_THAT(checkpoints(), IsEmpty());
  };
  FaultFileSystem broken(disk_);
  broken.fail(0, int64_t{1} << 40, absl::UnavailableError("injected"));
  for (const int guilty : {0, 1}) {
    SCOPED_TRACE(absl::StrCat("rank ", guilty));
    const int64_t calls = broken.calls();
    expect_nothing_saved({.evaluation_fails_on = guilty, .disk_of_rank_1 = &broken});
    EXPECT_GT(broken.calls(), calls) << "it was tried";
    expect_nothing_saved({.evaluation_fails_on = guilty, .capture_fails_on = 0});
    expect_nothing_saved({.evaluation_fails_on = guilty, .capture_fails_on = 1});
  }
}

}  // namespace
}  // namespace millrace
