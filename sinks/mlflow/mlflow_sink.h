// Reports and evaluations for an MLflow tracking server.
#ifndef MILLRACE_SINKS_MLFLOW_MLFLOW_SINK_H_
#define MILLRACE_SINKS_MLFLOW_MLFLOW_SINK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "framework/report/report_rows.h"
#include "framework/report/sink.h"
#include "sinks/mlflow/mlflow_names.h"
#include "sinks/mlflow/mlflow_sender.h"
#include "sinks/mlflow/record_queue.h"
#include "sinks/mlflow/step_times.h"

namespace millrace {

struct MlflowSinkOptions {
  std::string tracking_uri;  // see parse_http_url()
  std::string experiment = "millrace";
  std::string run_name;
  std::string directory;                       // of the queue and the id of the run
  absl::Duration timeout = absl::Seconds(10);  // of a request, and of flush()
  // Time of flush(), if it is shorter. Other ranks wait for it.
  absl::Duration most_wait = absl::InfiniteDuration();
  MlflowParams params;  // at most kMostMlflowParams
  RecordQueueOptions queue;
};

// Logs a metric for each number of values_of() (report_rows.h): mlflow_name() of "train/NAME" for
// numbers of training and of "SET/NAME" for numbers of an evaluation set. Reports are written to a
// queue on disk, which a thread sends to the server; the trainer's thread waits for the server only
// in flush().
//
// The directory, and a run of the server, are created with the first report or evaluation. All runs
// of one directory are one run of the server. A resumed run removes the unsent values after its
// checkpoint from the queue. Sent values stay on the server, which has no request for their
// removal. The values of the resumed run have the same times, so the server stores equal values
// once.
//
// A sink does not know how a run ends. The destructor sets the status FINISHED; a run whose process
// was killed stays RUNNING until a run of the same directory finishes.
class MlflowSink : public Sink {
 public:
  // Borrows `files` and `clock`. Contacts no server. Errors: InvalidArgument for the tracking URI.
  static absl::StatusOr<std::unique_ptr<MlflowSink>> create(FileSystem& files, Clock& clock,
                                                            MlflowSinkOptions options);

  // Ends as MlflowSender does. If start() was not called, as for a finished run, sends the queue of
  // earlier runs.
  ~MlflowSink() override;

  absl::Status start(const SinkStart& start) override;
  // Errors of write_report() and write_evaluation(): FailedPrecondition before start().
  absl::Status write_report(const Report& report) override;
  absl::Status write_evaluation(const EvaluationResult& result) override;
  // Makes the queue durable. Then waits for the server, as MlflowSender::wait_until_sent() does.
  absl::Status flush() override;

 private:
  MlflowSink(FileSystem& files, Clock& clock, MlflowSinkOptions options, HttpUrl server);
  std::string state_path() const { return join_path(options_.directory, "run.json"); }
  absl::Status open_queue();
  // Opens the queue, and removes values that the resumed run will write again.
  absl::Status continue_queue();
  void start_sender();
  absl::Status write(int64_t step, const std::string& set, const NamedNumbers& numbers);

  FileSystem& files_;
  Clock& clock_;
  const MlflowSinkOptions options_;
  const HttpUrl server_;
  MlflowNames names_;
  StepTimes times_;
  std::optional<SinkStart> start_;        // none before start()
  std::unique_ptr<RecordQueue> queue_;    // null before the first record, unless there was a queue
  std::unique_ptr<MlflowSender> sender_;  // likewise; uses the queue
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_MLFLOW_SINK_H_
