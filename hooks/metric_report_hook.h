// Reports and evaluations as JSON lines.
#ifndef MILLRACE_HOOKS_METRIC_REPORT_HOOK_H_
#define MILLRACE_HOOKS_METRIC_REPORT_HOOK_H_

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/lines/line_file.h"
#include "framework/report/report_rows.h"
#include "hook/hook.h"

namespace millrace {

// Appends a row (framework/report/report_rows.h) per report to <directory>/train.jsonl and per
// evaluation to <directory>/eval.jsonl, on rank 0. Files are created with the first row. A removed
// file is begun again after the next checkpoint. Checkpoints store the lengths of the
// files, and the lines up to these lengths are durable before. A resumed run first drops later
// lines.
class MetricReportHook : public Hook {
 public:
  // Borrows `files` and `clock`. The directory is created when needed.
  MetricReportHook(FileSystem& files, const std::string& directory, Clock& clock = Clock::real())
      : clock_(clock),
        train_(files, join_path(directory, kTrainRows)),
        eval_(files, join_path(directory, kEvalRows)) {}
  absl::string_view name() const override { return "metric_report"; }
  absl::Status start(HookContext& context) override;
  absl::Status after_report(HookContext& context, const Report& report) override;
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;
  absl::Status save_state(HookState& state) const override;
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  Clock& clock_;
  // Mutable, since save_state() makes the lines durable.
  mutable LineFile train_;
  mutable LineFile eval_;
  mutable absl::Status sync_;  // of the last save_state(), for after_checkpoint()
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_METRIC_REPORT_HOOK_H_
