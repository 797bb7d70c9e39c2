#include "tools/dry_run.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "distributed/rank_environment.h"
#include "hook/hook.h"
#include "job/job.h"
#include "tools/command_end.h"
#include "tools/device/cuda_devices.h"
#include "tools/device/device_flag.h"
#include "tools/exit_code.h"
#include "tools/memory_report.h"
#include "tools/output/run_summary.h"

namespace millrace {
namespace {

std::string metrics_line(const std::map<std::string, double>& metrics) {
  return absl::StrJoin(metrics, ", ", [](std::string* out, const auto& metric) {
    absl::StrAppend(out, metric.first, absl::StrFormat(" %.4g", metric.second));
  });
}

// Measures steps and ends training after some. The first one allocates what later ones reuse and
// opens the data.
class StepClock : public Hook {
 public:
  explicit StepClock(int64_t most) : most_(most) {}
  absl::string_view name() const override { return "dry_run"; }
  absl::Status after_step(HookContext& context, const StepResult& result) override {
    if (context.phase() != Phase::kTrain) return absl::OkStatus();
    last_ = Clock::real().elapsed();
    if (++steps_ == 1) first_ = last_;
    if (!result.applied && refused_++ == 0) reason_ = result.refused;
    if (steps_ >= most_) context.requests().stop("the dry run ends");
    return absl::OkStatus();
  }

  // Returns the mean time of the steps after the first one, in milliseconds; 0: there were none.
  double step_milliseconds() const {
    return steps_ < 2 ? 0 : absl::ToDoubleMilliseconds(last_ - first_) / (steps_ - 1);
  }
  // Returns OK if every step was applied.
  absl::Status check_refused() const {
    if (refused_ == 0) return absl::OkStatus();
    return with_kind(
        absl::FailedPreconditionError(absl::StrCat(
            refused_, " of ", steps_, " steps were refused as non-finite, the first because of ",
            reason_, "; lower the learning rate, or look for the cause with run.detect_anomaly")),
        FailureKind::kDiverged);
  }

 private:
  const int64_t most_;
  int64_t steps_ = 0, refused_ = 0;
  std::string reason_;           // of the first refused step
  absl::Duration first_, last_;  // when they ended
};

// Returns the hook, which the trainer owns.
absl::StatusOr<const StepClock*> train(Trainer& trainer, int64_t steps, std::ostream& out) {
  auto owned = std::make_unique<StepClock>(steps);
  const StepClock* const clock = owned.get();
  RETURN_IF_ERROR(trainer.add_hook(std::move(owned)));
  ASSIGN_OR_RETURN(const Summary summary, trainer.train());
  const int64_t made = std::max<int64_t>(1, summary.steps_begun);
  out << absl::StrFormat("training: %d steps of %d examples, %.2f ms each after the first; %s\n",
                         summary.steps_begun, summary.examples_this_run / made,
                         clock->step_milliseconds(), metrics_line(summary.train))
      << times_text(summary.times);
  return clock;
}

absl::Status evaluate(Trainer& trainer, const JobConfig& config, int64_t batches,
                      std::ostream& out) {
  for (const EvaluationSetConfig& set : config.train().eval_data()) {
    if (set.data().has_windows()) {
      out << "evaluation set " << set.name() << " comes in windows and is left out\n";
      continue;
    }
    ASSIGN_OR_RETURN(const EvaluationResult result,
                     trainer.evaluate(set.name(), {.max_steps = batches}));
    out << absl::StrFormat(
        "evaluation set %s: %d batches, %d examples, %.2f ms a batch; %s\n", set.name(),
        result.batches, result.examples,
        absl::ToDoubleMilliseconds(result.elapsed) / std::max<int64_t>(1, result.batches),
        metrics_line(result.metrics));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> dry_run(const ConfigFlags& flags, const DryRunFlags& dry, std::ostream& out) {
  FileSystem& files = ObjectFiles::process();
  ASSIGN_OR_RETURN(const RankEnvironment ranks, read_rank_environment());
  if (ranks.world_size > 1) {
    return absl::InvalidArgumentError(
        "--dry_run runs in one process; leave `launch` or the other ranks out");
  }
  if (!flags.summary.empty()) {
    return absl::InvalidArgumentError("--summary is of a run; a dry run writes nothing");
  }
  std::map<std::string, int64_t> rows;
  for (const std::string& text : dry.rows) {
    ASSIGN_OR_RETURN(const auto table, parse_rows(text), "--rows");
    if (rows.insert(table).second) continue;
    return absl::InvalidArgumentError(absl::StrCat("--rows names table ", table.first, " twice"));
  }
  ASSIGN_OR_RETURN(const CheckedJob job, load_job(files, flags, ranks.world_size));
  JobResources resources;
  ASSIGN_OR_RETURN(resources.cuda_device, device_of_rank(flags.device, cuda_devices, ranks));
  // Hooks that refuse their options are found without running them.
  RETURN_IF_ERROR(name_file_of_parts(check_parts(job, resources).status(), flags.config));
  absl::StatusOr<std::unique_ptr<Trainer>> built = build_trial_trainer(job, resources);
  if (absl::IsNotFound(built.status()) && job.train().has_generated_data()) {
    return annotate(built.status(), "a dry run does not make generated_data; run `train` once");
  }
  RETURN_IF_ERROR(name_file_of_parts(built.status(), flags.config));
  Trainer& trainer = **built;
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::string large, memory_of_rows(trainer, rows), "--rows");
    std::vector<std::string> notes;
    RETURN_IF_ERROR(trainer.load_model_bank(&notes));
    ASSIGN_OR_RETURN(const StepClock* const steps, train(trainer, dry.steps, out));
    RETURN_IF_ERROR(evaluate(trainer, job.config(), dry.steps, out));
    out << memory_text(trainer) << large << "dry run: nothing was written, and no hook was run\n"
        << std::flush;
    return steps->check_refused();
  };
  const absl::Status status = run();
  std::cerr << out_of_memory_text(status, trainer) << std::flush;
  const absl::StatusOr<int> outcome =
      status.ok() ? absl::StatusOr<int>(kExitFinished) : absl::StatusOr<int>(status);
  end_if_data_hangs(&trainer, outcome);
  return outcome;
}

}  // namespace millrace
