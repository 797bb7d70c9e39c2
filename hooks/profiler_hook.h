// Writes traces of some steps.
#ifndef MILLRACE_HOOKS_PROFILER_HOOK_H_
#define MILLRACE_HOOKS_PROFILER_HOOK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
#include "hooks/inspect/trace_recorder.h"
#include "hooks/inspect/trace_schedule.h"

namespace millrace {

struct ProfilerHookOptions {
  TraceSchedule schedule;
  std::string directory;
  bool record_shapes = false;
};

// Records the trainer's thread in the steps of a schedule, and writes
//
//   <directory>/rank-<rank>-steps-<first>-<last>.json
//
// after the last step of each cycle, or at the end of a run that ends within a cycle. A file is
// written under a temporary name and renamed. Operators of LibTorch are on one time line with these
// annotations:
//
//   step N, with: begin of the step, forward, backward, update
//   between steps: report, evaluate SET with a batch for each of its batches, checkpoint, wait for
//   data, other hooks
//
// docs/profiling.md defines where each begins and ends. At most the first 16 batches of an
// evaluation are recorded, so that a large set does not fill the memory. Outside the steps of a
// schedule an event costs a comparison. A write error drops the trace of the cycle. A training
// without a trace ends with a warning.
class ProfilerHook : public Hook {
 public:
  // The name under which the hook is registered.
  static constexpr absl::string_view kName = "profiler";

  // Borrows `files`. The directory is created when needed.
  ProfilerHook(FileSystem& files, ProfilerHookOptions options)
      : files_(files), options_(std::move(options)) {}
  // Creates the hook from ProfilerHookConfig. Errors: InvalidArgument with a line per wrong field.
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources& resources);

  absl::string_view name() const override { return kName; }
  absl::Status start(HookContext& context) override;
  absl::Status before_step(HookContext& context) override;
  absl::Status after_data(HookContext& context, const Batch& batch, int64_t micro_batch) override;
  absl::Status after_backward(HookContext& context, const Gradients& gradients) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status after_report(HookContext& context, const Report& report) override;
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;

 private:
  // Called between steps, before step `next`. Ends the current trace if the step does not belong to
  // the trace, and begins the trace of the step. Begins an annotation if recording.
  absl::Status prepare(int rank, int64_t next);
  absl::Status write(int rank);
  // Names the annotation between steps that ends, and begins the next one.
  void pass(absl::string_view name);

  FileSystem& files_;
  const ProfilerHookOptions options_;
  std::unique_ptr<TraceRecorder> recorder_;  // null: not recording
  TracePoint point_;                         // position of the current recording
  int64_t first_step_ = 0;                   // first step of the current recording
  int64_t last_step_ = 0;                    // last step that ended; below first_step_: none
  int64_t evaluation_batches_ = 0;           // batches begun in the current evaluation
  bool is_traced_ = false;                   // a trace of this run was written
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_PROFILER_HOOK_H_
