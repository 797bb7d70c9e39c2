// Reports and evaluations for TensorBoard.
#ifndef MILLRACE_SINKS_TENSORBOARD_TENSORBOARD_SINK_H_
#define MILLRACE_SINKS_TENSORBOARD_TENSORBOARD_SINK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "framework/report/report_rows.h"
#include "framework/report/sink.h"
#include "sinks/config_values.h"
#include "sinks/tensorboard/event_file.h"

namespace millrace {

struct TensorBoardSinkOptions {
  std::string directory;      // of the event files
  std::string configuration;  // text that is shown as "configuration"; "": none
  // Hyper-parameters, by name.
  std::vector<ConfigValue> hyper_parameters = {};
  bool histograms = true;  // of parameters and gradients
  int rank = 0;            // a part of the names of files
};

// Writes an event file for each run: a scalar for each number of values_of() (report_rows.h), by
// "train/NAME" for numbers of training and "SET/NAME" for numbers of an evaluation set, histograms
// by the names of Report::distributions, a precision-recall curve "SET/pr_curve" or
// "SET/TASK/pr_curve" for each of EvaluationResult::thresholds, the configuration as text, and
// hyper-parameters. If flush() finds that the file was removed, the next event begins another one.
// When a run resumes, TensorBoard drops the events that come again. The file then begins with the
// others of their step (earlier_events.h). Infinite numbers and not-a-number are omitted.
class TensorBoardSink : public Sink {
 public:
  // Borrows `files` and `clock`.
  TensorBoardSink(FileSystem& files, Clock& clock, TensorBoardSinkOptions options);

  absl::Status start(const SinkStart& start) override;
  bool wants_distributions() const override { return options_.histograms; }
  absl::Status write_report(const Report& report) override;
  absl::Status write_evaluation(const EvaluationResult& result) override;
  absl::Status flush() override;

 private:
  absl::Status open();
  absl::Status write_configuration(double wall_time);
  // Returns an event of now, with the numbers as scalars.
  tensorboard::Event event_of(int64_t step, absl::string_view prefix, const NamedNumbers& numbers);
  absl::Status write(const tensorboard::Event& event);
  double wall_time() const;

  FileSystem& files_;
  Clock& clock_;
  const TensorBoardSinkOptions options_;
  SinkStart start_;                  // steps finished before the first event of the file
  int64_t last_step_ = 0;            // of an event
  std::unique_ptr<EventFile> file_;  // null: nothing was written in this run
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_TENSORBOARD_TENSORBOARD_SINK_H_
