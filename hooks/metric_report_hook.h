// Reports and evaluations as JSON lines.
#ifndef MILLRACE_HOOKS_METRIC_REPORT_HOOK_H_
#define MILLRACE_HOOKS_METRIC_REPORT_HOOK_H_

#include <memory>
#include <string>

#include "base/file_system.h"
#include "framework/hook.h"
#include "hooks/line_file.h"

namespace millrace {

// Appends one JSON object for every report to <directory>/train.jsonl and for every evaluation to
// <directory>/eval.jsonl, on rank 0. Files are created with the first object. Numbers are numbers,
// not-a-number is null. A file that was removed begins anew after the next checkpoint. Checkpoints
// have the lengths of the files, and the lines up to there are durable before: a run that resumes
// first drops the lines behind them. docs/hooks.md lists the fields.
class MetricReportHook : public Hook {
 public:
  // Borrows `files`. The directory is created when needed.
  MetricReportHook(FileSystem& files, std::string directory)
      : train_(files, join_path(directory, "train.jsonl")),
        eval_(files, join_path(directory, "eval.jsonl")) {}
  absl::string_view name() const override { return "metric_report"; }
  absl::Status start(HookContext& context) override;
  absl::Status after_report(HookContext& context, const Report& report) override;
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;
  absl::Status save_state(HookState& state) const override;
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  // save_state() makes their lines durable.
  mutable LineFile train_;
  mutable LineFile eval_;
  mutable absl::Status sync_;  // of the last save_state(), for after_checkpoint()
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_METRIC_REPORT_HOOK_H_
