#include "sinks/mlflow/mlflow_uploader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {

MlflowUploader::MlflowUploader(FileSystem& files, Clock& clock, MlflowApi api,
                               MlflowUploaderOptions options)
    : files_(files),
      clock_(clock),
      api_(std::move(api)),
      options_(std::move(options)),
      state_(options_.state),
      rows_(files, options_.rows_directory, options_.start, state_.sent),
      times_(files, join_path(options_.directory, "times")) {}

int64_t MlflowUploader::now_ms() const { return absl::ToUnixMillis(clock_.now()); }

absl::Status MlflowUploader::save_state() {
  state_.sent = rows_.sent();
  return save_run_state(files_, join_path(options_.directory, kMlflowRunFile), state_);
}

absl::Status MlflowUploader::open_run() {
  // Durable before the server changes the status.
  if (std::exchange(state_.finished, false)) RETURN_IF_ERROR(save_state());
  if (!state_.run_id.empty()) {
    const absl::Status resumed = api_.resume_run(state_.run_id);
    if (absl::IsNotFound(resumed) || absl::IsInvalidArgument(resumed)) {
      RETURN_IF_ERROR(forget_run(resumed));
    } else {
      RETURN_IF_ERROR(resumed);
    }
  }
  if (state_.run_id.empty()) RETURN_IF_ERROR(create_run());
  if (!state_.params_logged) RETURN_IF_ERROR(log_params());
  RETURN_IF_ERROR(times_.load());
  open_ = true;
  MILLRACE_LOG(INFO) << "MLflow shows this run at " << state_.tracking_uri << "/#/experiments/"
                     << state_.experiment_id << "/runs/" << state_.run_id;
  return absl::OkStatus();
}

absl::Status MlflowUploader::create_run() {
  // The tag is durable before the server gets it, so the run is found after any interruption.
  RETURN_IF_ERROR(save_state());
  ASSIGN_OR_RETURN(state_.experiment_id, api_.find_or_create_experiment(state_.experiment));
  ASSIGN_OR_RETURN(state_.run_id, api_.find_or_create_run({.experiment_id = state_.experiment_id,
                                                           .name = options_.run_name,
                                                           .tag = state_.tag,
                                                           .start_ms = state_.start_ms}));
  return save_state();
}

absl::Status MlflowUploader::log_params() {
  const absl::Status logged = api_.log_params(state_.run_id, options_.params);
  if (absl::IsInvalidArgument(logged)) {
    MILLRACE_LOG(WARNING) << "MLflow refuses the configuration as parameters of the run, which has "
                             "none therefore: "
                          << logged;
  } else {
    RETURN_IF_ERROR(logged);
  }
  state_.params_logged = true;
  return save_state();
}

absl::Status MlflowUploader::forget_run(const absl::Status& cause) {
  if (forgotten_) return annotate(cause, "the run is missing on the server again");
  MILLRACE_LOG(WARNING) << "MLflow has no run " << state_.run_id
                        << " any more, so a new one is created: " << cause;
  forgotten_ = true;
  open_ = false;
  state_.run_id.clear();
  state_.params_logged = false;
  rows_.restart();
  one_by_one_ = 0;
  return absl::OkStatus();
}

absl::Status MlflowUploader::send(const std::vector<ReportRow>& rows) {
  std::vector<MlflowMetric> metrics;
  for (const ReportRow& row : rows) {
    const bool sent_by_0_1_0 = options_.rows_without_time_were_sent && !forgotten_;
    if (!row.time.has_value() && sent_by_0_1_0) continue;
    // A row of version 0.1.0 has no time. StepTimes has the times of the last steps alone.
    const absl::Time estimate = absl::FromUnixMillis(state_.start_ms) + absl::Seconds(row.seconds);
    const int64_t time_ms =
        times_.time_of(row.step, absl::ToUnixMillis(row.time.value_or(estimate)));
    for (const auto& [name, value] : row.numbers) {
      metrics.push_back({names_.of(absl::StrCat(row.set, "/", name)), value, time_ms, row.step});
    }
  }
  // A repeated request must have the same times, also after an interruption.
  RETURN_IF_ERROR(times_.save());
  const absl::Span<const MlflowMetric> all = metrics;
  for (size_t begin = 0; begin < all.size(); begin += kMostMlflowMetrics) {
    RETURN_IF_ERROR(api_.log_metrics(state_.run_id, all.subspan(begin, kMostMlflowMetrics)));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> MlflowUploader::upload() {
  ASSIGN_OR_RETURN(const RowFollower::Batch batch,
                   rows_.peek(one_by_one_ > 0 ? 1 : kMostMlflowMetrics));
  if (batch.rows.empty()) return false;
  if (!open_) {
    RETURN_IF_ERROR(open_run());
    return true;  // a new run gets the rows from the first one on
  }
  const absl::Status sent = send(batch.rows);
  if (absl::IsNotFound(sent) || absl::IsInvalidArgument(sent)) return handle_refusal(batch, sent);
  RETURN_IF_ERROR(sent);
  RETURN_IF_ERROR(confirm(batch));
  return true;
}

absl::Status MlflowUploader::confirm(const RowFollower::Batch& batch) {
  rows_.advance(batch);
  if (one_by_one_ > 0) --one_by_one_;
  return save_state();
}

absl::StatusOr<bool> MlflowUploader::handle_refusal(const RowFollower::Batch& batch,
                                                    const absl::Status& refusal) {
  const absl::StatusOr<bool> active = api_.is_active(state_.run_id);
  if (absl::IsNotFound(active.status()) || (active.ok() && !*active)) {
    RETURN_IF_ERROR(forget_run(refusal));
    return true;
  }
  RETURN_IF_ERROR(active.status());
  // Resources other than the run.
  if (absl::IsNotFound(refusal)) return refusal;
  if (batch.rows.size() > 1) {
    one_by_one_ = batch.rows.size();
    return true;
  }
  MILLRACE_LOG(WARNING) << "MLflow refuses the values of step " << batch.rows[0].step
                        << ", which are dropped: " << refusal;
  RETURN_IF_ERROR(confirm(batch));
  return true;
}

absl::Status MlflowUploader::finish() {
  if (state_.run_id.empty() || state_.finished) return absl::OkStatus();
  const absl::Status finished = api_.finish_run(state_.run_id, now_ms());
  // A run that was deleted on the server needs no status.
  if (!absl::IsNotFound(finished) && !absl::IsInvalidArgument(finished)) RETURN_IF_ERROR(finished);
  state_.finished = true;
  return save_state();
}

}  // namespace millrace
