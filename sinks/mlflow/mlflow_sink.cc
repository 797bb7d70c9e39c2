#include "sinks/mlflow/mlflow_sink.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/net/http_url.h"
#include "base/status_macros.h"
#include "sinks/mlflow/metric_record.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<MlflowSink>> MlflowSink::create(FileSystem& files, Clock& clock,
                                                               MlflowSinkOptions options) {
  absl::StatusOr<HttpUrl> server = parse_http_url(options.tracking_uri);
  if (!server.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("tracking_uri ", server.status().message()));
  }
  return std::unique_ptr<MlflowSink>(
      new MlflowSink(files, clock, std::move(options), *std::move(server)));
}

MlflowSink::MlflowSink(FileSystem& files, Clock& clock, MlflowSinkOptions options, HttpUrl server)
    : files_(files),
      clock_(clock),
      options_(std::move(options)),
      server_(std::move(server)),
      times_(files, join_path(options_.directory, "times")) {}

MlflowSink::~MlflowSink() {
  if (queue_ != nullptr || !files_.info(state_path()).ok()) return;
  if (open_queue().ok() && queue_->bytes() > 0) start_sender();
}

absl::Status MlflowSink::open_queue() {
  ASSIGN_OR_RETURN(queue_, RecordQueue::open(files_, options_.directory, options_.queue));
  return absl::OkStatus();
}

void MlflowSink::start_sender() {
  MlflowUploaderOptions uploader{.tracking_uri = options_.tracking_uri,
                                 .experiment = options_.experiment,
                                 .run_name = options_.run_name,
                                 .state_path = state_path(),
                                 .params = options_.params};
  sender_ = std::make_unique<MlflowSender>(files_, clock_, *queue_,
                                           MlflowSenderOptions{.server = server_,
                                                               .directory = options_.directory,
                                                               .timeout = options_.timeout,
                                                               .most_wait = options_.most_wait,
                                                               .uploader = std::move(uploader)});
}

absl::Status MlflowSink::continue_queue() {
  if (queue_ == nullptr) RETURN_IF_ERROR(open_queue());
  const SinkStart& start = *start_;
  RETURN_IF_ERROR(queue_->remove_if([&](absl::string_view record) {
    const int64_t step = step_of(record);
    if (step != start.first_step) return step > start.first_step;
    const auto parsed = parse_metric_record(record);
    return parsed.ok() && parsed->set.has_value() && start.comes_again(step, *parsed->set);
  }));
  return times_.start(start.first_step);
}

// A run without any report writes nothing and only sends the queue of earlier runs.
absl::Status MlflowSink::start(const SinkStart& start) {
  start_ = start;
  const bool exists = !absl::IsNotFound(files_.link_info(options_.directory).status());
  if (queue_ == nullptr && !exists) return absl::OkStatus();
  RETURN_IF_ERROR(continue_queue());
  if (sender_ == nullptr && queue_->bytes() > 0) start_sender();
  return absl::OkStatus();
}

absl::Status MlflowSink::write(int64_t step, const std::string& set, const NamedNumbers& numbers) {
  if (!start_.has_value()) {
    return absl::FailedPreconditionError("a report or an evaluation came before start()");
  }
  if (queue_ == nullptr) RETURN_IF_ERROR(continue_queue());
  MetricRecord record{.step = step, .time_ms = 0, .set = set, .metrics = {}};
  ASSIGN_OR_RETURN(record.time_ms, times_.time_of(step, absl::ToUnixMillis(clock_.now())));
  for (const auto& [name, number] : numbers) {
    record.metrics.emplace_back(names_.of(absl::StrCat(set, "/", name)), number);
  }
  RETURN_IF_ERROR(queue_->append(to_json(record)));
  if (sender_ == nullptr) {
    start_sender();
  } else {
    sender_->notify();
  }
  return absl::OkStatus();
}

absl::Status MlflowSink::write_report(const Report& report) {
  return write(report.progress.step, SinkStart::kTrain, values_of(report));
}

absl::Status MlflowSink::write_evaluation(const EvaluationResult& result) {
  return write(result.progress.step, result.set, values_of(result));
}

absl::Status MlflowSink::flush() {
  if (sender_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(times_.sync());
  RETURN_IF_ERROR(queue_->sync());  // also syncs the directory
  sender_->wait_until_sent();
  return absl::OkStatus();
}

}  // namespace millrace
