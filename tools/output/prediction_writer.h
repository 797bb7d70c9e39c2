// Files of predictions, and the names of the columns that they keep.
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

// Returns the format for the extension of `path`: .parquet, .pq or .csv. Errors: InvalidArgument
// for another extension.
absl::StatusOr<PredictionFormat> prediction_format(absl::string_view path);

// A column of the data files, written unchanged: as int64, uint64, double or text.
struct KeptColumn {
  std::string name;
  ValueType type = ValueType::kInt64;  // not kText
};

// The columns of a file, in this order: "set" (text) if with_set, "example_id" (int64), "group_id"
// (int64) if with_group_ids, TASK_prediction (float32) for each task, TASK (float32), the label,
// for each task with with_label, and the kept columns.
struct PredictionColumns {
  std::vector<std::string> tasks;
  std::vector<bool> with_label;  // for each task
  bool with_group_ids = false;
  bool with_set = false;
  std::vector<KeptColumn> kept = {};
};

// Errors: InvalidArgument for a kept column with the name of another column.
absl::Status check_kept_names(const PredictionColumns& columns);

// Some rows. Matrices are in row-major order.
struct PredictionRows {
  absl::string_view set;
  absl::Span<const int64_t> example_ids;
  absl::Span<const int64_t> group_ids;  // empty without that column
  absl::Span<const float> predictions;  // [rows, tasks]
  absl::Span<const float> labels;       // [rows, tasks]; read for tasks with with_label
  // One column per entry of PredictionColumns::kept, of the same type, with a row per example and
  // at most one value per row.
  absl::Span<const Column> kept = {};
};

// Writes rows in the order of append(). Holds at most 65,536 rows in memory, and fewer if their
// texts take 64 MiB. Used by one thread.
class PredictionWriter {
 public:
  // Borrows `file` until finish() or the end of the writer. Errors: InvalidArgument for two columns
  // of the same name.
  static absl::StatusOr<std::unique_ptr<PredictionWriter>> open(WritableFile& file,
                                                                PredictionFormat format,
                                                                const PredictionColumns& columns);
  // Abandons unfinished output; the file is then unusable.
  virtual ~PredictionWriter() = default;

  // Appends rows. Errors: errors of the file; InvalidArgument for text that is not UTF-8, in
  // Parquet.
  virtual absl::Status append(const PredictionRows& rows) = 0;
  // Writes the remaining rows. Neither syncs nor closes the file. Called once, last.
  virtual absl::Status finish() = 0;
};

// Returns the names in the values of a repeated flag, in order. A value equal to one of `columns`,
// the columns of the data, is a name; other values are lists of names separated by commas.
// Errors: InvalidArgument for an empty or repeated name.
absl::StatusOr<std::vector<std::string>> kept_names(absl::Span<const std::string> values,
                                                    absl::Span<const std::string> columns);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_PREDICTION_WRITER_H_
