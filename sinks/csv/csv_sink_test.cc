#include "sinks/csv/csv_sink.h"

#include "absl/strings/numbers.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "framework/report/sink_conformance.h"

namespace millrace {
namespace {

// Returns the numbers of a file in the columns from `begin` on. Names have the field of column
// `set`, if it is not 0, before them.
std::vector<SinkValue> read_columns(const SinkInput& input, const std::string& file, size_t begin,
                                    size_t set) {
  const absl::StatusOr<std::string> text = read_file(*input.files, "out/metrics/" + file);
  std::vector<SinkValue> values;
  if (!text.ok()) return values;
  absl::string_view rest = *text;
  std::vector<std::string> columns, fields;
  if (!next_csv_record(rest, columns)) return values;
  while (next_csv_record(rest, fields)) {
    EXPECT_EQ(fields.size(), columns.size());
    for (size_t i = begin; i < fields.size(); ++i) {
      SinkValue value{.name = set == 0 ? columns[i] : fields[set] + "/" + columns[i]};
      if (fields[i].empty()) continue;
      EXPECT_TRUE(absl::SimpleAtoi(fields[0], &value.step));
      EXPECT_TRUE(absl::SimpleAtod(fields[i], &value.value));
      values.push_back(value);
    }
  }
  return values;
}

// The numbers after the numbers of progress.
std::vector<SinkValue> read_values(const SinkInput& input) {
  return read_columns(input, "train.csv", 5, 0);
}
std::vector<SinkValue> read_evaluations(const SinkInput& input) {
  return read_columns(input, "eval.csv", 6, 5);
}

[[maybe_unused]] const bool kCsv = register_sink_conformance(
    "Csv", {.make =
                [](const SinkInput& input) {
                  return std::make_unique<CsvSink>(*input.files,
                                                   join_path(input.output_dir, "metrics"));
                },
            .read = &read_values,
            .read_evaluations = &read_evaluations,
            .holds_figures = true});

TEST(CsvSinkTest, WritesReportsAndEvaluations) {
  MemoryFileSystem files;
  CsvSink sink(files, "out");
  ASSERT_OK(sink.start({}));
  Report report;
  report.progress = {.step = 2, .examples = 100, .epoch = 1, .elapsed = absl::Milliseconds(500)};
  report.metrics = {{"loss", 0.25}, {"step", 7}};
  ASSERT_OK(sink.write_report(report));
  EvaluationResult result;
  result.set = "eval";
  result.progress = report.progress;
  result.metrics = {{"auc", 0.75}};
  ASSERT_OK(sink.write_evaluation(result));
  ASSERT_OK(sink.flush());
  EXPECT_EQ(*read_file(files, "out/train.csv"),
            "step,examples,epoch,window,seconds,examples_per_second,rows_per_second,"
            "bytes_per_second,data_wait_share,loss,"
            "process/bytes_read,process/cores,process/major_faults,process/minor_faults,"
            "process/resident_bytes\n2,100,1,0,0.5,0,0,0,0,0.25,0,0,0,0,0\n");
  EXPECT_EQ(*read_file(files, "out/eval.csv"),
            "step,examples,epoch,window,seconds,set,evaluation_seconds,evaluated_examples,auc\n"
            "2,100,1,0,0.5,eval,0,0,0.75\n");
}

}  // namespace
}  // namespace millrace
