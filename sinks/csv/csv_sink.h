// Reports and evaluations as comma-separated values.
#ifndef MILLRACE_SINKS_CSV_CSV_SINK_H_
#define MILLRACE_SINKS_CSV_CSV_SINK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "framework/report/sink.h"
#include "sinks/csv/csv_file.h"

namespace millrace {

// Writes train.csv, a row for each report, and eval.csv, a row for each evaluation, into
// `directory`. Columns: step, examples, epoch, window, seconds, eval.csv also set, then the numbers
// of values_of() (framework/report/report_rows.h). A value that a row does not have is an empty
// field.
class CsvSink : public Sink {
 public:
  // Borrows `files`.
  CsvSink(FileSystem& files, const std::string& directory);

  absl::Status start(const SinkStart& start) override;
  absl::Status write_report(const Report& report) override;
  absl::Status write_evaluation(const EvaluationResult& result) override;
  absl::Status flush() override;

 private:
  CsvFile train_, eval_;
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_CSV_CSV_SINK_H_
