// The log of MLPerf.
#ifndef MILLRACE_HOOKS_MLLOG_HOOK_H_
#define MILLRACE_HOOKS_MLLOG_HOOK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/lines/line_file.h"
#include "framework/report/monitored_metric.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
#include "proto/inspection_hook_configs.pb.h"

namespace millrace {

// Writes the lines ":::MLLOG {…}" of a training run on rank 0, in the format of the package
// mlperf-logging:
//
//   submission_*, init_start, the configured values, init_stop, run_start   before the first step
//   block_start, block_stop                                                 around each window
//   epoch_start, epoch_stop                                                 around each epoch of
//                                                                           data without windows
//   eval_start, eval_accuracy, eval_stop                                    around each evaluation
//   run_stop                                                                at the end
//
// Epochs and windows are numbered from 1; samples_count is the number of training examples so far.
// The file is created at the first step, so a run that ends before the first step leaves no file. A
// resumed run continues the file: lines after its checkpoint are dropped, and the lines before the
// first step are not repeated.
class MllogHook : public Hook {
 public:
  // The name under which the hook is registered.
  static constexpr absl::string_view kName = "mllog";

  // Borrows `files` and `clock`. REQUIRES: check(config) returns OK.
  MllogHook(FileSystem& files, Clock& clock, const std::string& output_dir,
            const MllogConfig& config);
  // Errors: InvalidArgument with a line for each wrong field.
  static absl::Status check(const MllogConfig& config);
  // Creates the hook from MllogConfig. Errors: errors of check().
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources& resources);

  absl::string_view name() const override { return kName; }
  absl::Status start(HookContext& context) override;
  absl::Status before_epoch(HookContext& context) override;
  absl::Status before_window(HookContext& context, const Window& window) override;
  absl::Status before_step(HookContext& context) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_epoch(HookContext& context) override;
  // Errors: NotFound if the evaluation of the set lacks the metric of eval_accuracy.
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;
  absl::Status save_state(HookState& state) const override;
  // Errors: InvalidArgument for a damaged state or another version.
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  class Line;
  static constexpr int64_t kNone = -1;
  // Returns true if this rank writes lines of the event.
  bool writes(const HookContext& context) const;
  // Writes a line, or holds the line until the first step.
  absl::Status write(Line line);
  absl::Status write_waiting();
  absl::Status write_beginning();
  // Returns true if the first line of an epoch or a window is not yet written. In a run that
  // resumes within an epoch or window, the line exists.
  bool opens(int64_t number);
  // Returns true if the last value of eval_accuracy reaches the target, or there is no target.
  bool target_reached() const;

  Clock& clock_;
  const MllogConfig config_;
  const MonitoredMetric accuracy_;
  const absl::Time created_;
  mutable LineFile lines_;     // save_state() makes its lines durable
  mutable absl::Status sync_;  // of the last save_state(), for after_checkpoint()
  bool is_training_ = false;   // from start() to end() of train(), on rank 0
  bool in_evaluation_ = false;
  bool begun_ = false;                // false before the first step of a run that begins a file
  std::vector<std::string> waiting_;  // lines held until then
  int64_t open_ = kNone;              // epoch or window whose first line was written last
  std::optional<double> last_accuracy_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_MLLOG_HOOK_H_
