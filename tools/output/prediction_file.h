// Writes predictions to a file.
#ifndef MILLRACE_TOOLS_OUTPUT_PREDICTION_FILE_H_
#define MILLRACE_TOOLS_OUTPUT_PREDICTION_FILE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "hook/events.h"
#include "io/batch.h"
#include "io/column.h"
#include "tools/output/prediction_writer.h"

namespace millrace {

// Writes every predicted example, in the order of the data. Writes labels and group ids if the data
// has them. A missing label is null: a label that the data or an example lacks is not-a-number
// (DatasetOptions::labels_may_miss). A label that examples may lack (FeatureConfig.MASK) is always
// written. Columns that batches keep (Batch::kept) come last.
class PredictionFile {
 public:
  // Borrows `file` until finish(). `with_set`: if true, each row has the name of the
  // set. `masked`: per task, true if examples may lack its label; empty: none. `kept_columns`: the
  // names of FeatureSchema::kept_columns().
  PredictionFile(WritableFile& file, PredictionFormat format, std::vector<std::string> tasks,
                 bool with_set, std::vector<bool> masked = {},
                 const std::vector<std::string>& kept_columns = {});

  // Writes a batch, as the PredictionConsumer of Trainer::predict(). Errors: errors of writing;
  // InvalidArgument if data without some labels follows data with them or the reverse, if a kept
  // column changes its type, or if the data lacks the kept columns.
  absl::Status append(const Batch& batch, const StepResult& result);

  // Begins the set of the following examples. `with_labels`: per task, true if the data has its
  // label; empty: not known, so that the first example of each batch decides.
  void begin_set(absl::string_view name, std::vector<bool> with_labels = {}) {
    set_ = std::string(name);
    with_labels_ = std::move(with_labels);
  }
  int64_t examples() const { return examples_; }

  // Returns the optional columns of the file, and the types of kept columns, in an internal text
  // form; "" without examples.
  std::string columns() const;
  // Writes the remaining rows. `columns_of_others`: the result of columns() on another rank, for a
  // file without examples; "": writes nothing then. Errors: errors of writing; InvalidArgument if
  // the files of two ranks would have different columns.
  absl::Status finish(absl::string_view columns_of_others = "");

 private:
  std::vector<bool> known_labels(const at::Tensor& labels) const;
  absl::Status open_writer();
  absl::Status check_columns(const at::Tensor& labels) const;
  // Gives `kept` the types of the file, where a column has no values.
  absl::Status check_kept(int64_t rows, std::shared_ptr<const std::vector<Column>>* kept) const;

  WritableFile& file_;
  const PredictionFormat format_;
  PredictionColumns columns_;
  const std::vector<bool> masked_;  // for each task
  std::unique_ptr<PredictionWriter>
      writer_;  // null before the first batch, whose data decides the columns
  std::string set_;
  std::vector<bool> with_labels_;  // of the set
  int64_t examples_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_PREDICTION_FILE_H_
