#include "tests/ranks/failing_rank.h"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/forwarding_file_system.h"
#include "base/status_macros.h"
#include "checkpoint/saver.h"
#include "distributed/c10d_collectives.h"
#include "framework/model/model.h"
#include "framework/trainer.h"
#include "hooks/cadence_hooks.h"
#include "hooks/evict_rows_hook.h"
#include "hooks/signal_stop_hook.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

class InjectingDataset : public FakeWindowedDataset {
 public:
  InjectingDataset(const FakeDatasetOptions& options, std::vector<FakeWindow> windows,
                   FailureInjector& injector)
      : FakeWindowedDataset(options, std::move(windows)), injector_(injector) {}

  absl::StatusOr<std::optional<Batch>> next() override {
    injector_.hit(FailurePhase::kFetch);
    return FakeWindowedDataset::next();
  }
  absl::StatusOr<WindowState> next_window() override {
    injector_.hit(FailurePhase::kWindowWait);
    return FakeWindowedDataset::next_window();
  }

 private:
  FailureInjector& injector_;
};

// A local disk that stalls once.
class StallingFileSystem : public ForwardingFileSystem {
 public:
  // `stall`: 0 if it never stalls. Borrows the record.
  StallingFileSystem(absl::Duration stall, FailureRecord::Rank& record)
      : ForwardingFileSystem(FileSystem::local()), stall_(stall), record_(record) {}

  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override {
    if (++files_ == 2 && stall_ > absl::ZeroDuration()) {
      record_.failed_at = FailureRecord::now();
      Clock::real().sleep(stall_);
    }
    return ForwardingFileSystem::create_new(path, size_bytes);
  }

 private:
  const absl::Duration stall_;
  FailureRecord::Rank& record_;
  std::atomic<int64_t> files_{0};
};

TinyTrainerOptions tiny_options(const FailingRankOptions& options) {
  TinyTrainerOptions tiny;
  tiny.train = {.batches = 4,
                .batch_size = 18,
                .rank = options.environment.rank,
                .world_size = options.environment.world_size,
                .dense = 3,
                .sparse = 2,
                .ids = 200};
  tiny.eval = tiny.train;
  tiny.eval.batches = 2;
  tiny.trainer.report = {.every_steps = 2, .at_end = true};
  tiny.trainer.poll_interval = absl::Milliseconds(20);
  tiny.sparse_optimizer.emplace().set_learning_rate(0.1);
  tiny.sparse_optimizer->mutable_adagrad();
  tiny.table.mutable_limit()->set_max_rows(40);
  tiny.table.mutable_limit()->set_on_full(LimitConfig::EVICT_LRU);
  tiny.table.mutable_eviction()->set_idle_steps(5);
  return tiny;
}

void inject(Model& model, FailureInjector& injector) {
  auto& tiny = static_cast<TinyModel&>(model);
  tiny.on_forward = [&](const Batch&) {
    injector.hit(tiny.is_training() ? FailurePhase::kForward : FailurePhase::kEvaluation);
    return absl::OkStatus();
  };
  tiny.on_output = [&](ModelOutput& output) {
    if (!output.loss.requires_grad()) return;
    output.loss.register_hook([&](at::Tensor gradient) {
      injector.hit(FailurePhase::kBackward);
      return gradient;
    });
  };
}

absl::Status add_hooks(Trainer& trainer, Model& model, std::vector<std::string>* events) {
  RETURN_IF_ERROR(trainer.add_hook(std::make_unique<SignalStopHook>()));
  RETURN_IF_ERROR(trainer.add_hook(
      std::make_unique<RecordingHook>(events, [](HookContext& context, absl::string_view event) {
        if (event == "after_step" && context.progress().step % 3 == 0 &&
            context.progress().step < 12) {
          context.requests().evaluate();
        }
        return absl::OkStatus();
      })));
  RETURN_IF_ERROR(trainer.add_hook(
      std::make_unique<EvictRowsHook>(Cadence{.every_steps = 2}, collections_of(model))));
  return trainer.add_hook(std::make_unique<CheckpointSaveHook>(Cadence{.every_steps = 4}));
}

absl::StatusOr<std::string> train(const FailingRankOptions& options, FailureInjector& injector,
                                  FailureRecord& record, std::unique_ptr<Collectives> collectives) {
  const TinyTrainerOptions tiny = tiny_options(options);
  TrainerParts parts = tiny_parts(tiny);
  inject(*parts.model, injector);
  parts.train_data = std::make_unique<InjectingDataset>(
      tiny.train, std::vector<FakeWindow>{{4, 0}, {4, 2}, {4, 2}}, injector);
  parts.collectives = inject_failures(std::move(collectives), injector);
  const bool stalls = options.environment.rank == options.stalled_rank;
  StallingFileSystem files(stalls ? options.stall : absl::ZeroDuration(),
                           record.of(options.environment.rank));
  SaverOptions saver;
  saver.folder = options.folder;
  saver.write_threads = 1;
  saver.asynchronous = options.asynchronous;
  saver.max_deltas = options.max_deltas;
  ASSIGN_OR_RETURN(parts.saver, Saver::create(std::move(saver), files, Clock::real()));
  const std::shared_ptr<Model> model = parts.model;
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                   Trainer::create(tiny.trainer, std::move(parts)));
  std::vector<std::string> events;
  RETURN_IF_ERROR(add_hooks(*trainer, *model, &events));
  if (options.resume) {
    std::vector<std::string> notes;
    ASSIGN_OR_RETURN(const auto found, trainer->resume(&notes));
    if (!found.has_value()) return absl::NotFoundError("no checkpoint");
  }
  ASSIGN_OR_RETURN(const Summary summary, trainer->train());
  std::string outcome = "completed";
  if (summary.outcome == Outcome::kStopped) {
    outcome = absl::StrCat(summary.stopped_by_rank ? "to run again: " : "", "stopped (",
                           summary.stop_reason, ")");
  }
  return absl::StrCat(outcome, " at step ", summary.progress.step);
}

}  // namespace

absl::StatusOr<std::string> run_failing_rank(const FailingRankOptions& options,
                                             FailureRecord& record) {
  FailureInjector injector(options.environment.rank, options.failures, record);
  C10dOptions connection;
  connection.environment = options.environment;
  connection.identity = {.name = "failing ranks", .version = "test", .config = options.folder};
  connection.rendezvous_timeout = options.rendezvous_timeout;
  connection.collective_timeout = options.collective_timeout;
  connection.published = [&](RankPhase phase, int64_t step) { injector.published(phase, step); };
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives, connect_c10d(connection));
  absl::StatusOr<std::string> outcome = train(options, injector, record, std::move(collectives));
  record.of(options.environment.rank).ended_at = FailureRecord::now();
  return outcome;
}

}  // namespace millrace
