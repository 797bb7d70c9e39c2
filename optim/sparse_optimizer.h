// Updates of embedding tables.
#ifndef MILLRACE_OPTIM_SPARSE_OPTIMIZER_H_
#define MILLRACE_OPTIM_SPARSE_OPTIMIZER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/progress.h"
#include "embedding/gradient_summary.h"
#include "embedding/rows/row_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

class EmbeddingCollection;
struct TableUpdate;

// Drives row optimizers over the tables of a model. Owned by the trainer and called from its
// thread. One step, after all its forward and backward passes:
//
//   RETURN_IF_ERROR(optimizer->check(progress));
//   if (optimizer->summarize(false).finite) {
//     RETURN_IF_ERROR(optimizer->step(progress));   // then progress.step advances
//   } else {
//     optimizer->discard();
//   }
class SparseOptimizer {
 public:
  // A table's own optimizer (TableConfig.optimizer) goes before `config`. Gives every table the
  // slots of its optimizer, and none to frozen ones. The collections are borrowed and must outlive
  // this object; each table belongs to one of them. None is fine.
  // Errors: InvalidArgument for numbers out of range, FailedPrecondition for a table that has rows
  // already, both naming the table.
  static absl::StatusOr<std::unique_ptr<SparseOptimizer>> create(
      const SparseOptimizerConfig& config, absl::Span<EmbeddingCollection* const> collections);
  ~SparseOptimizer();

  // Returns what step(progress) would refuse, first of all an error that a collection kept from a
  // forward or backward pass of this step. For before anything else of the step is updated.
  // Errors: as step(). Nothing has changed.
  absl::Status check(const Progress& progress) const;

  // One update of all tables, and the end of their step. `progress` stands before this step; rows
  // seen get last step progress.step + 1. Bias corrections count the steps applied to each table
  // (EmbeddingTable::applied_steps), which a table added to a running job has fewer of.
  // Gradients are multiplied by `gradient_scale` first.
  // Errors: those of EmbeddingCollection::apply; no table of any collection has changed then, and
  // the step is to be discarded.
  absl::Status step(const Progress& progress, double gradient_scale = 1);

  // Over all collections; the norm is that of the gradients before any scaling.
  GradientSummary summarize(bool with_norm);

  // Ends the step as if it had not been.
  void discard();

  // The rate of the next step, for tables without an optimizer of their own.
  double learning_rate(const Progress& progress) const { return learning_rate_; }
  // Rates of the next step by what they are for: "sparse", as above, and "sparse/NAME" of each
  // table with an optimizer of its own.
  std::map<std::string, double> learning_rates(const Progress& progress) const;

  absl::Span<EmbeddingCollection* const> collections() const { return collections_; }

 private:
  // One table's optimizer and rate; null: the table is frozen.
  struct TableOptimizer {
    std::unique_ptr<RowOptimizer> optimizer;
    double learning_rate = 0;
  };

  SparseOptimizer() = default;
  std::vector<std::vector<TableUpdate>> updates(double gradient_scale) const;
  absl::Status check(const Progress& progress,
                     const std::vector<std::vector<TableUpdate>>& updates) const;
  absl::Status bind(const SparseOptimizerConfig& config, EmbeddingCollection& collection);

  double learning_rate_ = 0;
  std::vector<EmbeddingCollection*> collections_;
  std::vector<std::vector<TableOptimizer>> optimizers_;  // of each collection, for each table
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SPARSE_OPTIMIZER_H_
