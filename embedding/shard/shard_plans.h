// The plans of a sharded step for all tables of a collection.
#ifndef MILLRACE_EMBEDDING_SHARD_SHARD_PLANS_H_
#define MILLRACE_EMBEDDING_SHARD_SHARD_PLANS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "embedding/rows/placement.h"
#include "embedding/shard/announced_ids.h"
#include "embedding/shard/owner_plan.h"
#include "embedding/shard/request_plan.h"
#include "embedding/shard/shard_totals.h"
#include "embedding/table/embedding_table.h"

namespace millrace {

// The state of a sharded step: a RequestPlan and an OwnerPlan for each table of a collection, and
// the totals of all ranks. Owned by EmbeddingCollection. CollectionExchange transfers the content
// between ranks. The share of this rank itself passes directly from plan to plan, without frames.
// Before shard() there are no plans, only announced ids.
//
// Not thread-safe, except that several threads may use request(), check_announced() and the plans
// of different tables at the same time.
class ShardPlans {
 public:
  struct Table {
    EmbeddingTable* table = nullptr;
    bool frozen = false;  // read only: no sums
  };

  // Borrows the tables.
  explicit ShardPlans(std::vector<Table> tables) : tables_(std::move(tables)) {}

  // Creates the plans of sharded tables. REQUIRES: the tables have the same placement; not inside a
  // step.
  void shard(const Placement& placement);
  bool sharded() const { return placement_.has_value(); }
  // Returns the placement of the tables. REQUIRES: sharded().
  const Placement& placement() const { return *placement_; }
  // Returns a hash of the names, dims, types, frozen flags and order of the tables and the world
  // size. REQUIRES: sharded().
  uint64_t fingerprint() const { return fingerprint_; }

  int64_t tables() const { return static_cast<int64_t>(tables_.size()); }
  EmbeddingTable& table(int64_t table) const { return *tables_[table].table; }
  const std::string& name(int64_t table) const { return tables_[table].table->name(); }
  bool frozen(int64_t table) const { return tables_[table].frozen; }
  // Return the plans of a table. REQUIRES: sharded().
  RequestPlan& requests(int64_t table) const { return *requests_[table]; }
  OwnerPlan& owner(int64_t table) const { return *owners_[table]; }

  // Begins a step or an evaluation, without announced ids. In training, the tables refuse changes
  // of their content (EmbeddingTable::in_step()) until discard() or end().
  void begin(bool training);
  // Returns true between begin(true) and end(), also after discard().
  bool training() const { return training_; }
  // Announces ids of a table.
  void request(int64_t table, absl::Span<const int64_t> ids);
  // Checks that the ids of a lookup were announced, if a training step has begun and tables are not
  // sharded; returns OK otherwise. Errors: not_announced_error().
  absl::Status check_announced(int64_t table, absl::Span<const int64_t> ids) const {
    return announced_.check(table, ids);
  }
  // Reopens a training step that discard() closed.
  void repeat() { hold_rows(training_); }

  // Passes this rank's counts and gradients of the ids it owns to OwnerPlan. Called for each table
  // before OwnerPlan::add_up(). REQUIRES: sharded().
  void take_own_sums(int64_t table);
  // Returns the totals of all ranks; nullopt before set_totals() and after the step.
  const std::optional<ShardTotals>& totals() const { return totals_; }
  void set_totals(const ShardTotals& totals) { totals_ = totals; }

  // Forgets lookups, gradients, sums and totals; keeps ids and records.
  void discard();
  // Ends an applied step: forgets everything.
  void end();

 private:
  void hold_rows(bool held);

  const std::vector<Table> tables_;
  std::optional<Placement> placement_;
  uint64_t fingerprint_ = 0;
  std::vector<std::unique_ptr<RequestPlan>> requests_;
  std::vector<std::unique_ptr<OwnerPlan>> owners_;
  bool training_ = false;
  AnnouncedIds announced_;  // if not sharded, in checked steps
  std::optional<ShardTotals> totals_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_SHARD_PLANS_H_
