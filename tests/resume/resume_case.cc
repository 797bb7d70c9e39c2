#include "tests/resume/resume_case.h"

#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "checkpoint/saver.h"
#include "checkpoint/testing/memory_store_testing.h"
#include "distributed/one_rank_collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/trainer.h"
#include "hooks/early_stopping_hook.h"
#include "hooks/evict_rows_hook.h"
#include "hooks/non_finite_guard_hook.h"
#include "tests/fakes/fake_saver.h"
#include "tests/fakes/gated_file_system.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/recording_hook.h"

namespace millrace {
namespace {

using Values = std::map<std::string, double>;

std::string to_text(const Values& values) {
  std::string text;
  for (const auto& [name, value] : values) absl::StrAppendFormat(&text, " %s=%a", name, value);
  return text;
}

std::string to_text(const Progress& progress) {
  return absl::StrCat("step ", progress.step, " examples ", progress.examples, " epoch ",
                      progress.epoch, " window ", progress.window, " skipped ",
                      progress.skipped_steps, " elapsed ", absl::FormatDuration(progress.elapsed));
}

// An object of the job: counts, and saves the count as its state.
class Counter : public Checkpointable {
 public:
  void count() { ++count_; }
  absl::Status save_state(ObjectState& state) const override {
    state = {1, absl::StrCat(count_)};
    return absl::OkStatus();
  }
  absl::Status load_state(absl::Span<const ObjectState> per_rank) override {
    if (per_rank.size() == 1 && absl::SimpleAtoi(per_rank[0].bytes, &count_))
      return absl::OkStatus();
    return absl::DataLossError("no count");
  }

 private:
  int64_t count_ = 0;
};

// Counts steps, records reports, and evaluates at its cadence.
class LogHook : public Hook {
 public:
  LogHook(Cadence evaluate, std::vector<std::string>* log, Counter* steps)
      : evaluate_(evaluate), log_(log), steps_(steps) {}
  absl::string_view name() const override { return "log"; }

  absl::Status after_step(HookContext& context, const StepResult&) override {
    if (context.phase() == Phase::kEvaluate) return absl::OkStatus();
    steps_->count();
    // Values that hooks report are part of the state, too.
    context.report("step_sum", static_cast<double>(context.progress().step), Reduction::kSum);
    if (context.due(evaluate_)) context.requests().evaluate();
    return absl::OkStatus();
  }
  absl::Status after_report(HookContext&, const Report& report) override {
    std::string line = absl::StrFormat(
        "report at %s: %d steps, %d examples, %a/s, waits %a;%s;%s;%s", to_text(report.progress),
        report.steps, report.examples, report.examples_per_second, report.data_wait_share,
        to_text(report.metrics), to_text(report.values), to_text(report.learning_rates));
    for (const auto& [name, table] : report.tables) {
      absl::StrAppendFormat(&line,
                            "; %s %d rows, %d candidates, %d inserted, %d unadmitted, %a, %a", name,
                            table.rows, table.candidates, table.inserted, table.unadmitted,
                            table.unique_share, table.hottest_share);
      for (const auto& [reason, rows] : table.evicted) absl::StrAppend(&line, ", ", reason, rows);
    }
    log_->push_back(std::move(line));
    return absl::OkStatus();
  }
  absl::Status after_evaluate(HookContext&, const EvaluationResult& result) override {
    log_->push_back(absl::StrCat("evaluation at ", to_text(result.progress), ":",
                                 to_text(result.metrics), to_text(result.values)));
    return absl::OkStatus();
  }

 private:
  const Cadence evaluate_;
  std::vector<std::string>* log_;
  Counter* steps_;
};

// Returns a function that reads a state from memory.
auto in_memory(const TrainState& state) {
  return [checkpoint = MemoryCheckpoint(state)](const TrainState& target) {
    return absl::StatusOr<LoadedState>(checkpoint.load(target));
  };
}

// Returns a saver whose files replace the memory.
absl::StatusOr<std::unique_ptr<Saver>> new_saver(FileSystem& files, bool bucket = false) {
  SaverOptions options;
  options.asynchronous = true;
  options.folder = bucket ? "s3://bucket/checkpoints" : "checkpoints";
  options.write_threads = 1;
  return Saver::create(std::move(options), files, Clock::real());
}

using Load = std::function<absl::StatusOr<LoadedState>(const TrainState&)>;

// `files` is shared with the saver that wrote there.
Load load_from(std::shared_ptr<FileSystem> files, bool bucket = false) {
  return [files, bucket](const TrainState& target) -> absl::StatusOr<LoadedState> {
    OneRankCollectives ranks;
    ASSIGN_OR_RETURN(const auto saver, new_saver(*files, bucket));
    ASSIGN_OR_RETURN(std::optional<FoundCheckpoint> found, saver->restore(target, ranks));
    if (!found.has_value()) return absl::NotFoundError("no checkpoint");
    return std::move(found->state);
  };
}

// An object store with its checkpoints.
struct HasStore {
  MemoryStore store;
};
struct Bucket : private HasStore, public ObjectFiles {
  Bucket() : ObjectFiles(store, Clock::real()) { set_lease(absl::Milliseconds(1)); }
};

absl::StatusOr<Load> in_files(const TrainState& state, bool bucket) {
  std::shared_ptr<FileSystem> files = std::make_shared<MemoryFileSystem>();
  if (bucket) files = std::make_shared<Bucket>();
  OneRankCollectives ranks;
  ASSIGN_OR_RETURN(const auto saver, new_saver(*files, bucket));
  RETURN_IF_ERROR(saver->save(state, {}, ranks).status());
  return load_from(files, bucket);
}

// Saves that are written later.
class LateSaves {
 public:
  ~LateSaves() {
    if (files_ != nullptr) files_->release();
  }
  // Begins a save after the end of the save before.
  absl::StatusOr<Load> begin(const TrainState& state) {
    RETURN_IF_ERROR(finish());
    files_ = std::make_shared<GatedFileSystem>();
    files_->hold("dense");
    ASSIGN_OR_RETURN(saver_, new_saver(*files_));
    RETURN_IF_ERROR(saver_->begin(state, {}, ranks_));
    return load_from(files_);
  }
  absl::Status finish() {
    if (saver_ == nullptr) return absl::OkStatus();
    files_->release();
    const absl::Status status = saver_->finish(ranks_).status();
    saver_.reset();  // releases its lock
    return status;
  }

 private:
  OneRankCollectives ranks_;
  std::shared_ptr<GatedFileSystem> files_;  // shared with loads
  std::unique_ptr<Saver> saver_;
};

// A trainer of a case.
class Job {
 public:
  explicit Job(const ResumeCase& resume_case, bool save_at_end = false)
      : scope_(resume_case.scope),
        files_(resume_case.files),
        bucket_(resume_case.bucket),
        asynchronous_(resume_case.asynchronous),
        keeps_best_(!resume_case.best.terms.empty()) {
    TinyTrainerOptions options = resume_case.options;
    options.clock = &clock_;
    options.on_forward = [this](const Batch&) {
      clock_.advance(absl::Seconds(1));
      return absl::OkStatus();
    };
    TrainerParts parts = tiny_parts(options);
    if (!resume_case.windows.empty()) {
      auto data = std::make_unique<FakeWindowedDataset>(options.train, resume_case.windows,
                                                        resume_case.windows_restart);
      windows_ = data.get();
      parts.train_data = std::move(data);
    }
    parts.saver = std::make_unique<FakeSaver>(
        [this](const TrainState& state, const auto&) -> absl::StatusOr<CheckpointInfo> {
          if (points_ == nullptr) {
            MILLRACE_CHECK(keeps_best_) << "nobody asked for a checkpoint";
            return CheckpointInfo();
          }
          Load load;
          if (asynchronous_) {
            ASSIGN_OR_RETURN(load, late_.begin(state));
          } else if (files_) {
            ASSIGN_OR_RETURN(load, in_files(state, bucket_));
          } else {
            load = in_memory(state);
          }
          points_->push_back({where_, std::move(load), run_.log.size(), {}});
          if (windows_ != nullptr) points_->back().windows = windows_->windows_now();
          return CheckpointInfo{where_, {}};
        });
    options.trainer.save_at_end = save_at_end;
    options.trainer.best = resume_case.best;
    auto trainer = Trainer::create(options.trainer, std::move(parts));
    MILLRACE_CHECK(trainer.ok()) << trainer.status();
    trainer_ = *std::move(trainer);
    for (auto [name, object, placement] :
         {std::make_tuple("once", &once_, StatePlacement::kOnce),
          std::make_tuple("per_rank", &per_rank_, StatePlacement::kPerRank)}) {
      const absl::Status status = trainer_->add_state(name, *object, placement);
      MILLRACE_CHECK(status.ok()) << status;
    }
    add(std::make_unique<LogHook>(resume_case.evaluate, &run_.log, &once_));
    NonFiniteConfig non_finite;
    non_finite.set_policy(NonFiniteConfig::SKIP);
    non_finite.set_max_in_a_row(2);
    add(std::make_unique<NonFiniteGuardHook>(non_finite));
    if (resume_case.evict.enabled()) {
      add(std::make_unique<EvictRowsHook>(resume_case.evict, trainer_->collections()));
    }
    if (resume_case.early_stopping.has_value()) {
      add(std::make_unique<EarlyStoppingHook>(*resume_case.early_stopping));
    }
    if (resume_case.on_event) {
      add(std::make_unique<RecordingHook>(&events_, resume_case.on_event, "case"));
    }
  }

  // Requests a checkpoint after every event before a serving point.
  void capture_into(std::vector<ResumePoint>* points) {
    points_ = points;
    add(std::make_unique<RecordingHook>(
        &events_,
        [this](HookContext& context, absl::string_view event) {
          if (absl::StartsWith(event, "eval:") || event == "end" || event == "after_report" ||
              event == "after_checkpoint") {
            return absl::OkStatus();
          }
          where_ = absl::StrCat(event, " at ", to_text(context.progress()));
          context.requests().checkpoint(scope_);
          return absl::OkStatus();
        },
        "saver"));
  }

  // Saves at the end, after an early stop.
  void stop_at(int64_t number, std::vector<ResumePoint>* points) {
    points_ = points;
    where_ = "the end";
    add(std::make_unique<RecordingHook>(
        &stop_events_,
        [this, number](HookContext& context, absl::string_view) {
          if (static_cast<int64_t>(stop_events_.size()) == number) {
            context.requests().stop("planted", Scope::kThisRank);
          }
          return absl::OkStatus();
        },
        "stopper"));
  }

  absl::Status restore(const ResumePoint& point) {
    ASSIGN_OR_RETURN(const TrainState target, trainer_->capture());
    ASSIGN_OR_RETURN(LoadedState state, point.load(target));
    std::vector<std::string> notes;
    RETURN_IF_ERROR(trainer_->restore(std::move(state), &notes));
    if (notes.empty()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("unexpected: ", notes[0]));
  }

  absl::StatusOr<ResumeRun> train() {
    RETURN_IF_ERROR(trainer_->train().status());
    RETURN_IF_ERROR(late_.finish());
    ASSIGN_OR_RETURN(const TrainState state, trainer_->capture());
    run_.end = MemoryCheckpoint(state).to_string();
    run_.progress = trainer_->progress();
    for (const EmbeddingTable* table : state.tables) {
      run_.evicted += table->maintenance().statistics().evicted_rows();
    }
    return std::move(run_);
  }

 private:
  void add(std::unique_ptr<Hook> hook) {
    const absl::Status status = trainer_->add_hook(std::move(hook));
    MILLRACE_CHECK(status.ok()) << status;
  }

  const Scope scope_;
  const bool files_, bucket_;
  const bool asynchronous_;
  const bool keeps_best_;  // keeps the best score, and so makes further checkpoints
  FakeClock clock_;
  ResumeRun run_;
  std::vector<std::string> events_, stop_events_;
  std::vector<ResumePoint>* points_ = nullptr;
  std::string where_;
  FakeWindowedDataset* windows_ = nullptr;  // the trainer's
  Counter once_, per_rank_;
  std::unique_ptr<Trainer> trainer_;
  LateSaves late_;
};

}  // namespace

absl::StatusOr<ResumeRun> run_whole(const ResumeCase& resume_case,
                                    std::vector<ResumePoint>* points) {
  Job job(resume_case);
  if (points != nullptr) job.capture_into(points);
  return job.train();
}

absl::StatusOr<ResumeRun> run_stopped(const ResumeCase& resume_case, int64_t event,
                                      std::vector<ResumePoint>* points) {
  Job job(resume_case, /*save_at_end=*/true);
  job.stop_at(event, points);
  return job.train();
}

absl::StatusOr<ResumeRun> run_from(const ResumeCase& resume_case, const ResumePoint& point) {
  ResumeCase now = resume_case;
  now.windows = point.windows;
  Job job(now);
  RETURN_IF_ERROR(job.restore(point));
  return job.train();
}

}  // namespace millrace
