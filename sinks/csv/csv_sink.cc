#include "sinks/csv/csv_sink.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/lines/line_text.h"
#include "framework/report/report_rows.h"

namespace millrace {
namespace {

constexpr char kSet[] = "set";  // a column

// The fields of a row.
class Row {
 public:
  explicit Row(const Progress& progress) : step_(progress.step) {
    fields_["step"];  // the first column
    add("examples", absl::StrCat(progress.examples));
    add("epoch", absl::StrCat(progress.epoch));
    add("window", absl::StrCat(progress.window));
    add("seconds", csv_number(absl::ToDoubleSeconds(progress.elapsed)));
  }

  void add(const std::string& name, std::string field) {
    // A metric may have the name of a column; the column keeps its meaning.
    if (fields_.emplace(name, std::move(field)).second) names_.push_back(name);
  }
  void add(const NamedNumbers& numbers) {
    for (const auto& [name, value] : numbers) add(name, csv_number(value));
  }
  absl::Status write(CsvFile& file) const { return file.add(step_, names_, fields_); }

 private:
  const int64_t step_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> fields_;
};

}  // namespace

CsvSink::CsvSink(FileSystem& files, const std::string& directory)
    : train_(files, join_path(directory, "train.csv")),
      eval_(files, join_path(directory, "eval.csv")) {}

absl::Status CsvSink::start(const SinkStart& start) {
  train_.start(start);
  eval_.start(start, kSet);
  return absl::OkStatus();
}

absl::Status CsvSink::write_report(const Report& report) {
  Row row(report.progress);
  row.add(values_of(report));
  return row.write(train_);
}

absl::Status CsvSink::write_evaluation(const EvaluationResult& result) {
  Row row(result.progress);
  row.add(kSet, csv_field(result.set));
  row.add(values_of(result));
  return row.write(eval_);
}

absl::Status CsvSink::flush() {
  absl::Status status = train_.flush();
  status.Update(eval_.flush());
  return status;
}

}  // namespace millrace
