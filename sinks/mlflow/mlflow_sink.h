// Reports and evaluations for an MLflow tracking server.
#ifndef MILLRACE_SINKS_MLFLOW_MLFLOW_SINK_H_
#define MILLRACE_SINKS_MLFLOW_MLFLOW_SINK_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/lines/line_file.h"
#include "framework/report/sink.h"
#include "sinks/mlflow/mlflow_sender.h"
#include "sinks/mlflow/run_state.h"

namespace millrace {

struct MlflowSinkOptions {
  std::string tracking_uri;  // see parse_http_url()
  std::string experiment = "millrace";
  std::string run_name;
  std::string directory;  // of the state of the run
  // Directory of train.jsonl and eval.jsonl, to which the hook metric_report appends. "": the sink
  // writes these files itself, to `directory`.
  std::string rows_directory;
  absl::Duration timeout = absl::Seconds(10);  // of a request, and of flush()
  // Time of flush(), if it is shorter. Other ranks wait for it.
  absl::Duration most_wait = absl::InfiniteDuration();
  MlflowParams params;  // at most kMostMlflowParams
};

// Follows the rows of reports on disk (framework/report/report_rows.h): a thread sends new rows to
// the server, and the file of MlflowRunState has the last rows that the server confirmed. The
// trainer's thread waits for the server only in flush().
//
// The directory, and a run of the server, are created with the first report or evaluation. All runs
// of one directory are one run of the server. A resumed run sends rows after its checkpoint again.
// Sent values stay on the server, which has no request for their removal. The values of the resumed
// run have the same times, so a server with a database stores equal values once.
//
// A sink does not know how a run ends. The destructor sets the status FINISHED; a run whose process
// was killed stays RUNNING until a run of the same directory finishes.
class MlflowSink : public Sink {
 public:
  // Borrows `files` and `clock`. Contacts no server. Errors: InvalidArgument for the tracking URI.
  static absl::StatusOr<std::unique_ptr<MlflowSink>> create(FileSystem& files, Clock& clock,
                                                            MlflowSinkOptions options);

  // Ends as MlflowSender does. If start() was not called, as for a finished run, sends the rest of
  // earlier runs.
  ~MlflowSink() override;

  absl::Status start(const SinkStart& start) override;
  // Called after the hook metric_report has appended the row, or before: the sender then reads the
  // row later. Errors of write_report() and write_evaluation(): FailedPrecondition before start();
  // see FileSystem if the sink writes the rows.
  absl::Status write_report(const Report& report) override;
  absl::Status write_evaluation(const EvaluationResult& result) override;
  // Makes rows of the sink durable. Then waits for the server, as MlflowSender::wait_until_sent()
  // does.
  absl::Status flush() override;

 private:
  MlflowSink(FileSystem& files, Clock& clock, MlflowSinkOptions options, HttpUrl server);
  bool writes_rows() const { return options_.rows_directory.empty(); }
  bool has_state() const;
  // Reads the state of the run. Warns if its rows are in other files than those of this run.
  absl::StatusOr<MlflowRunState> load_state();
  // Returns true if version 0.1.0 sent its whole queue; none: the directory has no queue.
  std::optional<bool> queue_was_sent() const;
  absl::Status start_sender();
  // Writes the row of a Report or an EvaluationResult if there is no other file of rows.
  template <typename Values>
  absl::Status write(LineFile& rows, const Values& values);

  FileSystem& files_;
  Clock& clock_;
  const MlflowSinkOptions options_;
  const HttpUrl server_;
  std::optional<SinkStart> start_;        // none before start()
  LineFile train_, eval_;                 // the rows if the sink writes them
  std::unique_ptr<MlflowSender> sender_;  // null before start()
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_MLFLOW_SINK_H_
