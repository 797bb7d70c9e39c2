// Predictions of an evaluation, on their way to a file.
#ifndef MILLRACE_TOOLS_OUTPUT_PREDICTION_HOOK_H_
#define MILLRACE_TOOLS_OUTPUT_PREDICTION_HOOK_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "framework/hook.h"
#include "io/column.h"
#include "tools/output/prediction_writer.h"

namespace millrace {

// Writes every evaluated example, in the order of the data. Labels and group ids are written if
// the data has them, labels as null where they are missing: a label that the data or an example
// lacks is not-a-number (DatasetOptions::labels_may_miss). A label that examples may lack
// (FeatureConfig.MASK) is written always. Columns that batches keep (Batch::kept) come last.
// Predictions of training are left alone.
class PredictionHook : public Hook {
 public:
  // Borrows `file` until finish() or abandon(). `with_set`: whether to name the set in each row.
  // `masked`: for each task whether examples may lack its label; empty: none. `kept_columns`: the
  // names of FeatureSchema::kept_columns().
  PredictionHook(WritableFile& file, PredictionFormat format, std::vector<std::string> tasks,
                 bool with_set, std::vector<bool> masked = {},
                 const std::vector<std::string>& kept_columns = {});

  absl::string_view name() const override { return "predictions"; }
  absl::Status after_data(HookContext& context, const Batch& batch, int64_t micro_batch) override;
  // Errors: those of writing; InvalidArgument if data without some labels follows data with them,
  // or the reverse, if a kept column has another type than in the data before, and if the data has
  // no kept columns.
  absl::Status after_step(HookContext& context, const StepResult& result) override;

  // Begins the set whose examples come next. `with_labels`: for each task whether the data has its
  // label; empty: not known, so that the first example of each batch decides.
  void begin_set(absl::string_view name, std::vector<bool> with_labels = {}) {
    set_ = std::string(name);
    with_labels_ = std::move(with_labels);
  }
  int64_t examples() const { return examples_; }

  // Returns which optional columns the file has, and the types of those that are kept, in a text of
  // the hook's own; "" without examples.
  std::string columns() const;
  // Writes what is left. `columns_of_others`: what columns() returns on another rank, for a file
  // without examples; "": nothing is written then. Errors: those of writing; InvalidArgument if the
  // files of two ranks would have different columns.
  absl::Status finish(absl::string_view columns_of_others = "");
  // Lets the file go, whatever was written.
  void abandon() { writer_.reset(); }

 private:
  std::vector<bool> known_labels(const at::Tensor& labels) const;
  absl::Status open_writer();
  absl::Status check_columns(const at::Tensor& labels) const;
  absl::Status check_kept();
  void take_kept_types();

  WritableFile& file_;
  const PredictionFormat format_;
  PredictionColumns columns_;
  const std::vector<bool> masked_;  // for each task
  std::unique_ptr<PredictionWriter>
      writer_;  // null before the first batch: its data say what columns there are
  std::string set_;
  std::vector<bool> with_labels_;  // of the set
  at::Tensor example_ids_;         // of the batch under way
  at::Tensor group_ids_;
  std::shared_ptr<const std::vector<Column>> kept_;  // likewise; shared with the batch
  int64_t examples_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_PREDICTION_HOOK_H_
