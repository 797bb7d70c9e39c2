#include "sinks/mlflow/mlflow_uploader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "sinks/mlflow/metric_record.h"

namespace millrace {
namespace {

constexpr size_t kMostRecords = 1000;  // of one call

}  // namespace

MlflowUploader::MlflowUploader(FileSystem& files, Clock& clock, RecordQueue& queue, MlflowApi api,
                               MlflowUploaderOptions options)
    : files_(files),
      clock_(clock),
      queue_(queue),
      api_(std::move(api)),
      options_(std::move(options)) {}

int64_t MlflowUploader::now_ms() const { return absl::ToUnixMillis(clock_.now()); }

absl::Status MlflowUploader::save_state() {
  return save_run_state(files_, options_.state_path, *state_);
}

absl::Status MlflowUploader::open_run() {
  if (open_) return absl::OkStatus();
  if (!state_.has_value()) {
    ASSIGN_OR_RETURN(state_, load_run_state(files_, options_.state_path, options_.tracking_uri,
                                            options_.experiment, now_ms()));
  }
  if (!state_->run_id.empty()) {
    const absl::Status resumed = api_.resume_run(state_->run_id);
    if (absl::IsNotFound(resumed) || absl::IsInvalidArgument(resumed)) {
      RETURN_IF_ERROR(forget_run(resumed));
    } else {
      RETURN_IF_ERROR(resumed);
    }
  }
  if (state_->run_id.empty()) RETURN_IF_ERROR(create_run());
  if (!state_->params_logged) RETURN_IF_ERROR(log_params());
  open_ = true;
  MILLRACE_LOG(INFO) << "MLflow shows this run at " << options_.tracking_uri << "/#/experiments/"
                     << state_->experiment_id << "/runs/" << state_->run_id;
  return absl::OkStatus();
}

// If the directory was removed and created again, its next run continues this run of the server.
absl::Status MlflowUploader::restore_state() {
  if (!absl::IsNotFound(files_.link_info(options_.state_path).status())) return absl::OkStatus();
  const bool has_directory = files_.link_info(directory_of(options_.state_path)).ok();
  return has_directory ? save_state() : absl::OkStatus();
}

absl::Status MlflowUploader::create_run() {
  // The tag is durable before the server gets it, so the run is found after any interruption.
  RETURN_IF_ERROR(save_state());
  ASSIGN_OR_RETURN(state_->experiment_id, api_.find_or_create_experiment(options_.experiment));
  ASSIGN_OR_RETURN(state_->run_id, api_.find_or_create_run({.experiment_id = state_->experiment_id,
                                                            .name = options_.run_name,
                                                            .tag = state_->tag,
                                                            .start_ms = state_->start_ms}));
  return save_state();
}

absl::Status MlflowUploader::log_params() {
  const absl::Status logged = api_.log_params(state_->run_id, options_.params);
  if (absl::IsInvalidArgument(logged)) {
    MILLRACE_LOG(WARNING) << "MLflow refuses the configuration as parameters of the run, which has "
                             "none therefore: "
                          << logged;
  } else {
    RETURN_IF_ERROR(logged);
  }
  state_->params_logged = true;
  return save_state();
}

absl::Status MlflowUploader::forget_run(const absl::Status& cause) {
  if (forgotten_) return annotate(cause, "the run is missing on the server again");
  MILLRACE_LOG(WARNING) << "MLflow has no run " << state_->run_id
                        << " any more, so a new one is created: " << cause;
  forgotten_ = true;
  open_ = false;
  state_->run_id.clear();
  state_->params_logged = false;
  return absl::OkStatus();
}

absl::Status MlflowUploader::send(const RecordQueue::Batch& batch) {
  std::vector<MlflowMetric> metrics;
  for (const std::string& text : batch.records) {
    const absl::StatusOr<MetricRecord> record = parse_metric_record(text);
    if (!record.ok()) continue;  // its checksum is right: of another version of Millrace
    for (const auto& [key, value] : record->metrics) {
      metrics.push_back({key, value, record->time_ms, record->step});
    }
  }
  const absl::Span<const MlflowMetric> all = metrics;
  for (size_t begin = 0; begin < all.size(); begin += kMostMlflowMetrics) {
    RETURN_IF_ERROR(api_.log_metrics(state_->run_id, all.subspan(begin, kMostMlflowMetrics)));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> MlflowUploader::upload() {
  RETURN_IF_ERROR(open_run());
  RETURN_IF_ERROR(restore_state());
  ASSIGN_OR_RETURN(const RecordQueue::Batch batch, queue_.peek(one_by_one_ > 0 ? 1 : kMostRecords));
  if (batch.records.empty()) return false;
  const absl::Status sent = send(batch);
  if (absl::IsNotFound(sent) || absl::IsInvalidArgument(sent)) return handle_refusal(batch, sent);
  RETURN_IF_ERROR(sent);
  RETURN_IF_ERROR(queue_.remove(batch));
  if (one_by_one_ > 0) --one_by_one_;
  return true;
}

absl::StatusOr<bool> MlflowUploader::handle_refusal(const RecordQueue::Batch& batch,
                                                    const absl::Status& refusal) {
  const absl::StatusOr<bool> active = api_.is_active(state_->run_id);
  if (absl::IsNotFound(active.status()) || (active.ok() && !*active)) {
    RETURN_IF_ERROR(forget_run(refusal));
    return true;
  }
  RETURN_IF_ERROR(active.status());
  // Resources other than the run.
  if (absl::IsNotFound(refusal)) return refusal;
  if (batch.records.size() > 1) {
    one_by_one_ = batch.records.size();
    return true;
  }
  MILLRACE_LOG(WARNING) << "MLflow refuses the values of step " << step_of(batch.records[0])
                        << ", which are dropped: " << refusal;
  RETURN_IF_ERROR(queue_.remove(batch));
  if (one_by_one_ > 0) --one_by_one_;
  return true;
}

absl::Status MlflowUploader::finish() {
  if (!open_) return absl::OkStatus();
  return api_.finish_run(state_->run_id, now_ms());
}

}  // namespace millrace
