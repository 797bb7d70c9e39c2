#include "hooks/metric_report_hook.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "framework/report/report_rows.h"

namespace millrace {
namespace {

constexpr int32_t kMetricReportVersion = 1;

bool is_beyond(absl::string_view line, int64_t step) {
  const absl::StatusOr<ReportKey> row = parse_report_key(line);
  return !row.ok() || row->step > step;
}

}  // namespace

absl::Status MetricReportHook::start(HookContext& context) {
  const int64_t first_step = context.progress().step;
  for (LineFile* lines : {&train_, &eval_}) {
    lines->begin(first_step > 0,
                 [first_step](absl::string_view line) { return is_beyond(line, first_step); });
    if (context.rank() != 0) lines->set_bytes(LineFile::kUnknown);
  }
  return absl::OkStatus();
}

absl::Status MetricReportHook::after_report(HookContext& context, const Report& report) {
  if (context.rank() != 0) return absl::OkStatus();
  return train_.append(report_row(report, clock_.now()));
}

absl::Status MetricReportHook::after_evaluate(HookContext& context,
                                              const EvaluationResult& result) {
  if (context.rank() != 0) return absl::OkStatus();
  return eval_.append(report_row(result, clock_.now()));
}

// The checkpoint recreates a removed directory.
absl::Status MetricReportHook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  train_.check_removed();
  eval_.check_removed();
  return std::exchange(sync_, absl::OkStatus());
}

absl::Status MetricReportHook::end(HookContext&, const absl::Status&) {
  absl::Status status = train_.finish();
  status.Update(eval_.finish());
  return status;
}

// An error of the files must not fail the checkpoint: after_checkpoint() returns the error.
absl::Status MetricReportHook::save_state(HookState& state) const {
  sync_.Update(train_.sync());
  sync_.Update(eval_.sync());
  if (train_.bytes() == LineFile::kUnknown && eval_.bytes() == LineFile::kUnknown)
    return absl::OkStatus();
  state = {kMetricReportVersion, absl::StrCat(train_.bytes(), " ", eval_.bytes())};
  return absl::OkStatus();
}

absl::Status MetricReportHook::load_state(absl::Span<const HookState> per_rank) {
  int64_t train = LineFile::kUnknown, eval = LineFile::kUnknown;
  if (!per_rank.empty() && !per_rank[0].empty()) {  // rank 0's
    const std::pair<absl::string_view, absl::string_view> bytes =
        absl::StrSplit(per_rank[0].bytes, ' ');
    const bool readable = per_rank[0].version == kMetricReportVersion &&
                          absl::SimpleAtoi(bytes.first, &train) &&
                          absl::SimpleAtoi(bytes.second, &eval);
    if (!readable) {
      return absl::InvalidArgumentError(
          "the state of hook metric_report is damaged or of another version");
    }
  }
  train_.set_bytes(train);
  eval_.set_bytes(eval);
  return absl::OkStatus();
}

}  // namespace millrace
