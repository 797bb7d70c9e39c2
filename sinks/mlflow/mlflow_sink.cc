#include "sinks/mlflow/mlflow_sink.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/http/http_url.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/report/report_rows.h"

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
      train_(files, join_path(options_.directory, kTrainRows)),
      eval_(files, join_path(options_.directory, kEvalRows)) {}

MlflowSink::~MlflowSink() {
  if (start_.has_value() || !has_state()) return;
  const absl::Status status = start_sender();
  if (!status.ok()) MILLRACE_LOG(WARNING) << "MLflow: " << status;
}

bool MlflowSink::has_state() const {
  return files_.info(join_path(options_.directory, kMlflowRunFile)).ok();
}

absl::StatusOr<MlflowRunState> MlflowSink::load_state() {
  const std::string path = join_path(options_.directory, kMlflowRunFile);
  ASSIGN_OR_RETURN(MlflowRunState state,
                   load_run_state(files_, path, options_.tracking_uri, options_.experiment,
                                  absl::ToUnixMillis(clock_.now())));
  if (!state.sent.empty() && state.own_rows != writes_rows()) {
    state.sent.clear();
    if (!state.finished) {
      MILLRACE_LOG(WARNING) << "MLflow: report.jsonl was changed, and reports of earlier runs that "
                               "were not sent remain in "
                            << (state.own_rows ? options_.directory : kRowsDirectory)
                            << "; to send them, run once with the former value";
    }
  }
  state.own_rows = writes_rows();
  return state;
}

std::optional<bool> MlflowSink::queue_was_sent() const {
  const auto entries = files_.list(options_.directory);
  const auto position = read_file(files_, join_path(options_.directory, "position"));
  std::string end;  // of the last file, in the form of `position`
  for (const DirectoryEntry& entry : entries.value_or(std::vector<DirectoryEntry>())) {
    absl::string_view number = entry.name;
    if (!absl::ConsumePrefix(&number, "queue-") || !absl::ConsumeSuffix(&number, ".jsonl"))
      continue;
    const auto info = files_.info(join_path(options_.directory, entry.name));
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    end = absl::StrCat(number, " ", info.ok() ? info->size_bytes : -1, "\n");
  }
  if (end.empty() && !position.ok()) return std::nullopt;
  return position.ok() && (end.empty() || *position == end);
}

absl::Status MlflowSink::start_sender() {
  ASSIGN_OR_RETURN(MlflowRunState state, load_state());
  const std::optional<bool> queue_sent = queue_was_sent();
  if (writes_rows() && queue_sent == false) {
    MILLRACE_LOG(WARNING) << "MLflow: " << options_.directory
                          << " has a queue of version 0.1.0, whose reports are not sent; run 0.1.0 "
                             "once more to send them, or remove the files queue-*";
  }
  const bool is_of_0_1_0 = state.sent.empty() && !state.run_id.empty();
  MlflowUploaderOptions uploader{
      .run_name = options_.run_name,
      .directory = options_.directory,
      .rows_directory = writes_rows() ? options_.directory : options_.rows_directory,
      .params = options_.params,
      .state = std::move(state),
      .start = start_,
      .rows_without_time_were_sent = is_of_0_1_0 && queue_sent == true};
  sender_ = std::make_unique<MlflowSender>(files_, clock_,
                                           MlflowSenderOptions{.server = server_,
                                                               .timeout = options_.timeout,
                                                               .most_wait = options_.most_wait,
                                                               .uploader = std::move(uploader),
                                                               .waits_for_row = !has_state()});
  return absl::OkStatus();
}

// A run without any report writes nothing and only sends the rows of earlier runs.
absl::Status MlflowSink::start(const SinkStart& start) {
  // An earlier run of this process has waited in flush(). The new sender sends the rest.
  if (sender_ != nullptr) sender_->abandon();
  sender_.reset();
  start_ = start;
  for (LineFile* rows : {&train_, &eval_}) {
    rows->begin(start.first_step > 0, [start](absl::string_view line) {
      const absl::StatusOr<ReportKey> row = parse_report_key(line);
      return !row.ok() || start.comes_again(row->step, row->set);
    });
  }
  return start_sender();
}

template <typename Values>
absl::Status MlflowSink::write(LineFile& rows, const Values& values) {
  if (!start_.has_value()) {
    return absl::FailedPreconditionError("a report or an evaluation came before start()");
  }
  if (writes_rows()) RETURN_IF_ERROR(rows.append(report_row(values, clock_.now())));
  if (sender_ != nullptr) sender_->notify();
  return absl::OkStatus();
}

absl::Status MlflowSink::write_report(const Report& report) { return write(train_, report); }

absl::Status MlflowSink::write_evaluation(const EvaluationResult& result) {
  return write(eval_, result);
}

absl::Status MlflowSink::flush() {
  for (LineFile* rows : {&train_, &eval_}) {
    RETURN_IF_ERROR(rows->sync());
    rows->check_removed();
  }
  if (sender_ != nullptr) sender_->wait_until_sent();
  return absl::OkStatus();
}

}  // namespace millrace
