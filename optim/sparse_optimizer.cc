#include "optim/sparse_optimizer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "optim/dense/optimizer_schedule.h"
#include "optim/rows/row_optimizer_registry.h"

namespace millrace {

SparseOptimizer::~SparseOptimizer() = default;

absl::StatusOr<std::unique_ptr<SparseOptimizer>> SparseOptimizer::create(
    const SparseOptimizerConfig& config, absl::Span<EmbeddingCollection* const> collections,
    const ScheduleTotals& totals) {
  RETURN_IF_ERROR(check_sparse_optimizer("sparse_optimizer", config));
  std::unique_ptr<SparseOptimizer> result(new SparseOptimizer);
  ASSIGN_OR_RETURN(result->schedule_,
                   create_optimizer_schedule(config.schedule(), config.learning_rate(), totals));
  for (EmbeddingCollection* collection : collections) {
    RETURN_IF_ERROR(result->bind(config, totals, *collection));
  }
  return result;
}

absl::Status SparseOptimizer::bind(const SparseOptimizerConfig& config,
                                   const ScheduleTotals& totals, EmbeddingCollection& collection) {
  std::vector<TableOptimizer> optimizers;
  for (size_t t = 0; t < collection.tables().size(); ++t) {
    EmbeddingTable& table = *collection.tables()[t];
    const TableConfig& own = collection.options().tables[t];
    // A frozen table gets no slots, which saves their memory; its null optimizer keeps the indices
    // of optimizers and tables equal.
    if (own.frozen()) {
      RETURN_IF_ERROR(table.bind({}), absl::StrCat("table ", table.name()));
      optimizers.emplace_back();
      continue;
    }
    const SparseOptimizerConfig& chosen = own.has_optimizer() ? own.optimizer() : config;
    const std::string what = absl::StrCat("sparse optimizer of table ", table.name());
    RETURN_IF_ERROR(check_sparse_optimizer("optimizer", chosen), what);
    TableOptimizer optimizer;
    ASSIGN_OR_RETURN(optimizer.optimizer, create_row_optimizer(chosen), what);
    // A table without its own optimizer follows schedule_, so that reports have one rate for all
    // such tables.
    if (own.has_optimizer()) {
      ASSIGN_OR_RETURN(optimizer.schedule,
                       create_optimizer_schedule(chosen.schedule(), chosen.learning_rate(), totals),
                       what);
    }
    // The slots must be known before the first row is created, because each row is allocated with
    // its slots.
    RETURN_IF_ERROR(table.bind(optimizer.optimizer->slots(table.dim())), what);
    collection.set_duplicate_gradients(static_cast<int64_t>(t), chosen.duplicate_gradients());
    optimizers.push_back(std::move(optimizer));
  }
  collections_.push_back(&collection);
  optimizers_.push_back(std::move(optimizers));
  return absl::OkStatus();
}

std::vector<std::vector<TableUpdate>> SparseOptimizer::updates(const Progress& progress,
                                                               double gradient_scale,
                                                               double gradient_limit) const {
  const double common_rate = schedule_->rate(progress);
  std::vector<std::vector<TableUpdate>> updates(collections_.size());
  for (size_t i = 0; i < collections_.size(); ++i) {
    for (size_t t = 0; t < optimizers_[i].size(); ++t) {
      TableUpdate update;
      update.optimizer = optimizers_[i][t].optimizer.get();
      const Schedule* own = optimizers_[i][t].schedule.get();
      update.context.learning_rate = own == nullptr ? common_rate : own->rate(progress);
      update.context.step = collections_[i]->tables()[t]->applied_steps() + 1;
      update.context.gradient_scale = gradient_scale;
      update.context.gradient_limit = gradient_limit;
      update.context.instruction_set = collections_[i]->options().instruction_set;
      updates[i].push_back(update);
    }
  }
  return updates;
}

absl::Status SparseOptimizer::check(const Progress& progress) const {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  return check(progress, updates(progress, /*gradient_scale=*/1, kNoLimit));
}

absl::Status SparseOptimizer::check(const Progress& progress,
                                    const std::vector<std::vector<TableUpdate>>& updates) const {
  for (size_t i = 0; i < collections_.size(); ++i) {
    RETURN_IF_ERROR(collections_[i]->check(updates[i]), "updating embeddings");
    RETURN_IF_ERROR(collections_[i]->check_step(progress.step + 1), "updating embeddings");
  }
  return absl::OkStatus();
}

absl::Status SparseOptimizer::step(const Progress& progress, double gradient_scale,
                                   double gradient_limit) {
  const std::vector<std::vector<TableUpdate>> all =
      updates(progress, gradient_scale, gradient_limit);
  // Checks all collections before the first changes, so that a refused step changes no table.
  RETURN_IF_ERROR(check(progress, all));
  for (size_t i = 0; i < collections_.size(); ++i) {
    RETURN_IF_ERROR(collections_[i]->apply(progress.step + 1, all[i]));
  }
  return absl::OkStatus();
}

std::map<std::string, Schedule*> SparseOptimizer::schedules() const {
  std::map<std::string, Schedule*> schedules = {{"sparse", schedule_.get()}};
  for (size_t i = 0; i < collections_.size(); ++i) {
    for (size_t t = 0; t < optimizers_[i].size(); ++t) {
      Schedule* const own = optimizers_[i][t].schedule.get();
      if (own == nullptr) continue;
      schedules[absl::StrCat("sparse/", collections_[i]->tables()[t]->name())] = own;
    }
  }
  return schedules;
}

std::map<std::string, double> SparseOptimizer::learning_rates(const Progress& progress) const {
  std::map<std::string, double> rates;
  for (const auto& [name, schedule] : schedules()) rates[name] = schedule->rate(progress);
  return rates;
}

GradientSummary SparseOptimizer::summarize(bool with_norm) {
  GradientSummary summary;
  for (EmbeddingCollection* collection : collections_) summary += collection->summarize(with_norm);
  return summary;
}

void SparseOptimizer::discard() {
  for (EmbeddingCollection* collection : collections_) collection->discard();
}

}  // namespace millrace
