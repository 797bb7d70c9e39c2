// Predictions as a file.
#ifndef MILLRACE_TOOLS_OUTPUT_PREDICTION_WRITER_H_
#define MILLRACE_TOOLS_OUTPUT_PREDICTION_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "io/column.h"

namespace millrace {

enum class PredictionFormat { kParquet, kCsv };

// By the extension of `path`: .parquet, .pq or .csv.
// Errors: InvalidArgument for another one.
absl::StatusOr<PredictionFormat> prediction_format(absl::string_view path);

// A column of the data files that is written unchanged: as int64, uint64, double or text.
struct KeptColumn {
  std::string name;
  ValueType type = ValueType::kInt64;  // not kText
};

// Which columns there are. In this order: "set" (text) if with_set, "example_id" (int64),
// "group_id" (int64) if with_group_ids, TASK_prediction (float32) for each task, TASK (float32),
// the label, for each task that with_label holds true for, and the kept columns.
struct PredictionColumns {
  std::vector<std::string> tasks;
  std::vector<bool> with_label;  // for each task
  bool with_group_ids = false;
  bool with_set = false;
  std::vector<KeptColumn> kept = {};
};

// Errors: InvalidArgument for a kept column that has the name of another column.
absl::Status check_kept_names(const PredictionColumns& columns);

// Some rows. Matrices are row after row.
struct PredictionRows {
  absl::string_view set;
  absl::Span<const int64_t> example_ids;
  absl::Span<const int64_t> group_ids;  // empty without that column
  absl::Span<const float> predictions;  // [rows, tasks]
  absl::Span<const float> labels;       // [rows, tasks]; read where with_label says so
  // As many as PredictionColumns::kept, of their types, each with a row for each example, which has
  // at most one value.
  absl::Span<const Column> kept = {};
};

// Writes rows in the order they come. In memory are at most 65,536 rows, and fewer where their
// texts take 64 MiB. Used by one thread.
class PredictionWriter {
 public:
  // Borrows `file` until finish() or the writer's end. Errors: InvalidArgument for two columns of
  // one name.
  static absl::StatusOr<std::unique_ptr<PredictionWriter>> open(WritableFile& file,
                                                                PredictionFormat format,
                                                                const PredictionColumns& columns);
  // Gives up what was not finished; the file then holds nothing of use.
  virtual ~PredictionWriter() = default;

  // Errors: those of the file; InvalidArgument for text that is not UTF-8, in Parquet.
  virtual absl::Status append(const PredictionRows& rows) = 0;
  // Writes what is left. Neither syncs nor closes the file. Called once, last.
  virtual absl::Status finish() = 0;
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_PREDICTION_WRITER_H_
