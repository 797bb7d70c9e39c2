// Updates of embedding tables.
#ifndef MILLRACE_OPTIM_SPARSE_OPTIMIZER_H_
#define MILLRACE_OPTIM_SPARSE_OPTIMIZER_H_

#include <limits>
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
#include "optim/schedule/schedule.h"
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
  // slots of its optimizer, and none to frozen ones, and sets what gradients of duplicate ids
  // become. The collections are borrowed and must outlive this object; each table belongs to one of
  // them. None is fine. `totals`: those of training, for schedules with shares of it.
  // Errors: InvalidArgument for numbers out of range, FailedPrecondition for a table that has rows
  // already, both naming the table.
  static absl::StatusOr<std::unique_ptr<SparseOptimizer>> create(
      const SparseOptimizerConfig& config, absl::Span<EmbeddingCollection* const> collections,
      const ScheduleTotals& totals = {});
  ~SparseOptimizer();

  // Returns what step(progress) would refuse, first of all an error that a collection kept from a
  // forward or backward pass of this step. For before anything else of the step is updated.
  // Errors: as step(). Nothing has changed.
  absl::Status check(const Progress& progress) const;

  // One update of all tables, and the end of their step. `progress` stands before this step; rows
  // seen get last step progress.step + 1. Bias corrections count the steps applied to each table
  // (EmbeddingTable::applied_steps), which a table added to a running job has fewer of.
  // Gradients are multiplied by `gradient_scale` first; then each of their numbers is limited to
  // [-gradient_limit, gradient_limit].
  // Errors: those of EmbeddingCollection::apply; no table of any collection has changed then, and
  // the step is to be discarded.
  absl::Status step(const Progress& progress, double gradient_scale = 1,
                    double gradient_limit = std::numeric_limits<double>::infinity());

  // Over all collections; the norm is that of the gradients before any scaling.
  GradientSummary summarize(bool with_norm);

  // Ends the step as if it had not been.
  void discard();

  // The rate of the next step, for tables without an optimizer of their own.
  double learning_rate(const Progress& progress) const { return schedule_->rate(progress); }
  // Rates of the next step by what they are for: "sparse", as above, and "sparse/NAME" of each
  // table with an optimizer of its own.
  std::map<std::string, double> learning_rates(const Progress& progress) const;
  // Returns the schedules of these rates, by the same names. Borrowed.
  std::map<std::string, Schedule*> schedules() const;

  absl::Span<EmbeddingCollection* const> collections() const { return collections_; }

 private:
  struct TableOptimizer {
    std::unique_ptr<RowOptimizer> optimizer;  // null: the table is frozen
    // Of a table with an optimizer of its own; else null: schedule_ holds.
    std::unique_ptr<Schedule> schedule;
  };

  SparseOptimizer() = default;
  std::vector<std::vector<TableUpdate>> updates(const Progress& progress, double gradient_scale,
                                                double gradient_limit) const;
  absl::Status check(const Progress& progress,
                     const std::vector<std::vector<TableUpdate>>& updates) const;
  absl::Status bind(const SparseOptimizerConfig& config, const ScheduleTotals& totals,
                    EmbeddingCollection& collection);

  std::unique_ptr<Schedule> schedule_;
  std::vector<EmbeddingCollection*> collections_;
  std::vector<std::vector<TableOptimizer>> optimizers_;  // of each collection, for each table
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SPARSE_OPTIMIZER_H_
