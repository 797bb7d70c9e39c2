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
  // Creates row optimizers for all tables of `collections`, which may be empty, are borrowed and
  // must outlive this object. Each table belongs to one collection. A table's own optimizer
  // (TableConfig.optimizer) takes precedence over `config`. Binds the slots of its optimizer to
  // each table, none to frozen tables, and sets the rule for gradients of duplicate ids. `totals`:
  // the totals of training, for schedules with shares of a total. Errors: InvalidArgument for
  // numbers out of range, FailedPrecondition for a table that already has rows, both naming the
  // table.
  static absl::StatusOr<std::unique_ptr<SparseOptimizer>> create(
      const SparseOptimizerConfig& config, absl::Span<EmbeddingCollection* const> collections,
      const ScheduleTotals& totals = {});
  ~SparseOptimizer();

  // Returns the error that step(progress) would return, first an error that a collection retained
  // from a forward or backward pass of this step. Called before any other part of the step is
  // updated.
  // Errors: as step(). Changes nothing.
  absl::Status check(const Progress& progress) const;

  // Updates all tables once and ends their step. `progress`: before this step; rows that occurred
  // get last step progress.step + 1. Bias corrections count the steps applied to each table
  // (EmbeddingTable::applied_steps), which are fewer for a table that was added to a running job.
  // Multiplies gradients by `gradient_scale`, then limits each number to the range
  // [-gradient_limit, gradient_limit].
  // Errors: as EmbeddingCollection::apply(); then no table of any collection has changed, and the
  // caller must call discard().
  absl::Status step(const Progress& progress, double gradient_scale = 1,
                    double gradient_limit = std::numeric_limits<double>::infinity());

  // Summarizes the gradients of all collections. The norm is the norm before any scaling.
  GradientSummary summarize(bool with_norm);

  // Ends the step without an update; tables are as before the step.
  void discard();

  // Returns the rate of the next step for tables without their own optimizer.
  double learning_rate(const Progress& progress) const { return schedule_->rate(progress); }
  // Returns the rates of the next step: "sparse", as above, and "sparse/NAME" for each table with
  // its own optimizer.
  std::map<std::string, double> learning_rates(const Progress& progress) const;
  // Returns the schedules of these rates, by the same names. Borrowed.
  std::map<std::string, Schedule*> schedules() const;

  absl::Span<EmbeddingCollection* const> collections() const { return collections_; }

 private:
  struct TableOptimizer {
    std::unique_ptr<RowOptimizer> optimizer;  // null: the table is frozen
    // The schedule of a table with its own optimizer; null if schedule_ applies.
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
