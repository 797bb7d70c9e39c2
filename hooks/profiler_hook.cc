#include "hooks/profiler_hook.h"

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/report/directory_check.h"
#include "hooks/inspect/chrome_trace.h"
#include "proto/field_errors.h"
#include "proto/inspection_hook_configs.pb.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Name of an annotation between steps until the end determines the name.
constexpr char kBetween[] = "other hooks";
constexpr int64_t kMostEvaluationBatches = 16;

absl::Status check(const ProfilerHookConfig& config) {
  constexpr char kWhere[] = "[millrace.profiler]";
  FieldErrors errors;
  errors.add(check_ranges(kWhere, config));
  errors.add(check_directory(kWhere, config.directory()));
  return errors.status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Hook>> ProfilerHook::create(const HookConfig& config,
                                                           const HookResources& resources) {
  const ProfilerHookConfig& own = config.GetExtension(profiler);
  RETURN_IF_ERROR(check(own));
  // Keeps messages of LibTorch's recorder about its stages off the standard error. The recorder has
  // the levels verbose 0, info 1, warnings 2, stages 3, errors 4 and probes (USDT) 5, which each
  // trace has.
  setenv("KINETO_LOG_LEVEL", "6", /*overwrite=*/0);
  return std::make_unique<ProfilerHook>(
      resources.files,
      ProfilerHookOptions{.schedule = {.skip_first = own.skip_first(),
                                       .wait = own.wait(),
                                       .warmup = own.warmup(),
                                       .active = own.active(),
                                       .repeat = own.repeat()},
                          .directory = join_path(resources.output_dir, own.directory()),
                          .record_shapes = own.record_shapes()});
}

absl::Status ProfilerHook::start(HookContext& context) {
  recorder_.reset();
  is_traced_ = false;
  if (context.phase() != Phase::kTrain) return absl::OkStatus();
  return prepare(context.rank(), context.progress().step + 1);
}

absl::Status ProfilerHook::prepare(int rank, int64_t next) {
  const TracePoint point = options_.schedule.at(next);
  if (recorder_ != nullptr && point != point_) {
    if (point_.phase == TracePhase::kActive) RETURN_IF_ERROR(write(rank));
    recorder_.reset();
  }
  if (point.phase == TracePhase::kOff) return absl::OkStatus();
  if (recorder_ == nullptr) {
    ASSIGN_OR_RETURN(recorder_, TraceRecorder::begin(options_.record_shapes));
    evaluation_batches_ = 0;
    point_ = point;
    first_step_ = next;
    last_step_ = next - 1;
  }
  recorder_->open(kBetween);
  return absl::OkStatus();
}

absl::Status ProfilerHook::write(int rank) {
  const std::unique_ptr<TraceRecorder> recorder = std::move(recorder_);
  ASSIGN_OR_RETURN(const std::vector<TraceEvent> events, recorder->finish());
  const std::string path =
      join_path(options_.directory,
                absl::StrCat("rank-", rank, "-steps-", first_step_, "-", last_step_, ".json"));
  RETURN_IF_ERROR(files_.create_directories(options_.directory));
  RETURN_IF_ERROR(write_file_atomically(files_, path, [&](WritableFile& file) {
    return write_chrome_trace({rank, first_step_, last_step_}, events, file);
  }));
  is_traced_ = true;
  MILLRACE_LOG(INFO) << "trace of steps " << first_step_ << " to " << last_step_ << ": " << path;
  return absl::OkStatus();
}

void ProfilerHook::pass(absl::string_view name) {
  if (recorder_ == nullptr) return;
  recorder_->resume();
  evaluation_batches_ = 0;
  recorder_->close(name);
  recorder_->open(kBetween);
}

absl::Status ProfilerHook::before_step(HookContext& context) {
  if (recorder_ == nullptr) return absl::OkStatus();
  if (context.phase() == Phase::kEvaluate) {
    if (++evaluation_batches_ > kMostEvaluationBatches) recorder_->pause();
    recorder_->open("evaluation batch");
    return absl::OkStatus();
  }
  recorder_->close("wait for data");
  recorder_->open(absl::StrCat("step ", context.progress().step + 1));
  recorder_->open("begin of the step");
  return absl::OkStatus();
}

absl::Status ProfilerHook::after_data(HookContext& context, const Batch&, int64_t) {
  if (recorder_ == nullptr || context.phase() != Phase::kTrain) return absl::OkStatus();
  recorder_->close();
  recorder_->open_passes();
  return absl::OkStatus();
}

absl::Status ProfilerHook::after_backward(HookContext&, const Gradients&) {
  if (recorder_ == nullptr) return absl::OkStatus();
  recorder_->close();
  recorder_->open("update");
  return absl::OkStatus();
}

absl::Status ProfilerHook::after_step(HookContext& context, const StepResult&) {
  if (recorder_ == nullptr) {
    return context.phase() == Phase::kTrain ? prepare(context.rank(), context.progress().step + 1)
                                            : absl::OkStatus();
  }
  recorder_->close();  // the part of the step, or the batch of an evaluation
  if (context.phase() != Phase::kTrain) return absl::OkStatus();
  recorder_->close();
  last_step_ = context.progress().step;
  return prepare(context.rank(), last_step_ + 1);
}

absl::Status ProfilerHook::after_report(HookContext&, const Report&) {
  pass("report");
  return absl::OkStatus();
}

absl::Status ProfilerHook::after_evaluate(HookContext&, const EvaluationResult& result) {
  pass(absl::StrCat("evaluate ", result.set));
  return absl::OkStatus();
}

absl::Status ProfilerHook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  pass("checkpoint");
  return absl::OkStatus();
}

absl::Status ProfilerHook::end(HookContext& context, const absl::Status&) {
  const bool is_worth_writing =
      recorder_ != nullptr && point_.phase == TracePhase::kActive && last_step_ >= first_step_;
  const absl::Status status = is_worth_writing ? write(context.rank()) : absl::OkStatus();
  recorder_.reset();
  if (context.phase() == Phase::kTrain && status.ok() && !is_traced_) {
    MILLRACE_LOG(WARNING) << "profiler: no trace was written; the run ended after step "
                          << context.progress().step << ", before the steps to record";
  }
  return status;
}

MILLRACE_REGISTER_HOOK(profiler, "writes traces of steps for Perfetto and Chrome",
                       &ProfilerHook::create, OnError::kWarn);

}  // namespace millrace
