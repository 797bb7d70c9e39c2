// One table of rows that appear when their id does.
#ifndef MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_H_
#define MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/isa/instruction_set.h"
#include "base/memory/block_pool.h"
#include "base/shared_mutex.h"
#include "embedding/id_map/id_map.h"
#include "embedding/policies/admission.h"
#include "embedding/policies/evicted_log.h"
#include "embedding/policies/eviction.h"
#include "embedding/rows/initializer.h"
#include "embedding/rows/kernels.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/rows/row_store.h"
#include "embedding/rows/undo_budget.h"
#include "embedding/table/table_rows.h"
#include "embedding/table/table_snapshot.h"
#include "embedding/table/table_statistics.h"
#include "proto/config.pb.h"

namespace millrace {

// Decides the result, but for evicted_log_ids, instruction_set and blocks.
struct EmbeddingTableOptions {
  std::string name;
  int64_t dim = 16;  // columns; 1 to 4096
  // How many of these, the last ones, the model has added to those of the configuration. Rows from
  // files may come without them. Decides no result by itself. Below dim.
  int64_t added_columns = 0;
  InitializerConfig initializer;
  uint64_t seed = 1;
  AdmissionConfig admission;
  DefaultValueConfig default_value;
  std::optional<EvictionConfig> eviction;
  LimitConfig limit;
  RowType type = RowType::kFloat32;
  // Default: the best this machine has.
  InstructionSet instruction_set = best_instruction_set();
  // Where memory comes from; null: a pool of the table's own.
  std::shared_ptr<BlockPool> blocks;
  int64_t evicted_log_ids = 1 << 20;  // that evicted_since can list at most; 8 bytes each

  static EmbeddingTableOptions from_config(const TableConfig& config, uint64_t seed);
};

// An id map, a row store, an initializer, and what decides which ids have rows. Knows no LibTorch.
// The life of a row:
//
//   RETURN_IF_ERROR(table->bind(optimizer.slots(dim)));      // once, before the first row
//   RETURN_IF_ERROR(table->find_or_insert(ids, rows));       // admitted ids get tentative rows
//   ... change store().weights(row) and slots(row) ...
//   table->see(step, rows, counts);
//   table->commit(step);                                     // now they are there
//   // or table->discard(): as if nothing had been
//   ASSIGN_OR_RETURN(counts, table->evict({.step = step}));  // between steps: by the table's rules
//
// Limits are kept by commit, for EVICT_LRU and EVICT_LFU; by find_or_insert, for FAIL, which makes
// the step an error, and REJECT, which admits no id in steps that begin with a full table.
//
// Const methods may be called from many threads at once while nobody changes the table; the others
// need it for themselves. mutex() is there to see to it.
class EmbeddingTable {
 public:
  // Errors: InvalidArgument for an empty name, a dim outside 1 to 4096 or a bad initializer.
  static absl::StatusOr<std::unique_ptr<EmbeddingTable>> create(EmbeddingTableOptions options);

  const std::string& name() const { return options_.name; }
  int64_t dim() const { return options_.dim; }
  int64_t added_columns() const { return options_.added_columns; }
  const std::vector<SlotSpec>& slots() const { return store_.slots(); }

  // Gives rows the state an optimizer needs. Errors: FailedPrecondition if there are rows already
  // and their slots differ.
  absl::Status bind(std::vector<SlotSpec> slots);

  // rows[i] becomes the row of ids[i], or kNoRow.
  void find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const {
    map_.find(ids, rows);
  }
  // What a row of this id holds when it appears.
  void initial_row(int64_t id, absl::Span<float> row) const { initializer_.fill(id, row); }
  // What an id without a row reads.
  void default_row(int64_t id, absl::Span<float> row) const;

  // The same, but unknown ids that are admitted get a tentative row with its initial value. Those
  // that are not read default_row, and this occurrence of theirs is counted: every occurrence in
  // the step is to be looked up once. Errors: those of check_room; nothing is inserted or counted
  // then.
  absl::Status find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows);
  // What find_or_insert is made of, for those who look ids up in the map themselves: check_room of
  // them, then make_row for each occurrence that has no row.
  // Errors: ResourceExhausted if there are no row numbers left, or the limit of the table does not
  // allow as many rows and on_full is FAIL.
  absl::Status check_room(absl::Span<const int64_t> ids) const;
  // REQUIRES: the id has no row. Returns: a tentative one, or kNoRow if it is not admitted.
  RowIndex make_row(int64_t id);
  IdMap& map() { return map_; }
  const IdMap& map() const { return map_; }

  // The largest step: the format of checkpoints keeps the last step of a row in 32 bits.
  static constexpr int64_t kMaxStep = std::numeric_limits<uint32_t>::max();
  // Checks that rows can note `step` as the last one that saw them. To be called before anything of
  // a step or of a loaded state is changed. Errors: OutOfRange naming table and step.
  absl::Status check_step(int64_t step) const;

  // Of a step that is about to be committed: rows[i] was seen counts[i] more times, and last in
  // `step`. In as many calls as suit, each row once. Only commit may follow.
  // REQUIRES: check_step(step) is OK.
  void see(int64_t step, absl::Span<const RowIndex> rows, absl::Span<const uint32_t> counts);
  // Ends a step: tentative rows are there for good, and what the ids without rows counted is
  // counted. Then the limit is kept: rows may be gone. REQUIRES: `step` is above that of earlier
  // calls.
  void commit(int64_t step);
  // Removes tentative rows. The content, and the counts of ids without rows, are as they were
  // before the step, if nothing was written to other rows.
  void discard();
  bool has_tentative_rows() const { return !tentative_.empty(); }

  // None: evict does nothing.
  const std::optional<EvictionRules>& eviction_rules() const { return eviction_; }
  // Removes the rows that the rules are against: weights, slots, counts. An id that comes back
  // begins anew. Errors: FailedPrecondition inside a step.
  absl::StatusOr<EvictionCounts> evict(const EvictionTime& now);
  // Ids evicted, for whatever reason, when `step` steps or more had been applied, and that have no
  // row now; by ascending placement_hash. Errors: OutOfRange if that is too long ago to know.
  absl::StatusOr<std::vector<int64_t>> evicted_since(int64_t step) const;
  // evicted_since knows this step and later ones.
  int64_t evicted_log_begins() const { return evicted_.begins(); }
  // Whoever loads rows and knows that they are all there was at `step` says so here.
  void restart_evicted_log(int64_t step) { evicted_.restart(step); }

  // Between steps, what the table's future depends on beside the rows.
  AdmissionState admission_state() const { return admission_->state(); }
  EvictedLogState evicted_log() const { return evicted_.state(); }
  TableCounters counters() const { return {applied_steps_, step_, counted_}; }
  // Errors: InvalidArgument naming the table if it does not fit, OutOfRange for counters of a step
  // that check_step refuses; nothing changes then.
  absl::Status set_admission_state(const AdmissionState& state);
  absl::Status set_evicted_log(const EvictedLogState& state);
  absl::Status set_counters(const TableCounters& counters);

  // What one row costs under max_bytes: its record (weights and slots, rounded up to 64 bytes) and
  // 64 bytes for its place in the store and the map. A fixed price, so that limits act alike
  // whatever the memory looks like.
  int64_t row_bytes() const;
  int64_t row_limit() const { return row_limit_; }  // rows that max_rows and max_bytes allow

  // The table as it is; it must not change while that is used. REQUIRES: no tentative rows.
  std::unique_ptr<TableSnapshot> view() const;
  // The same, but to be read while it changes. REQUIRES: also that an earlier one has been read.
  std::unique_ptr<TableSnapshot> freeze(std::shared_ptr<UndoBudget> budget);
  // To be called for rows before they are changed by store(); see() and place_rows() do it.
  void preserve(absl::Span<const RowIndex> rows) { store_.preserve(rows); }

  // Steps committed, the t of bias corrections is one more. Part of the table's state.
  int64_t applied_steps() const { return applied_steps_; }

  RowStore& store() { return store_; }
  const RowStore& store() const { return store_; }
  const Kernels& kernels() const { return kernels_; }  // for this machine
  // Of the stochastic rounding of 16-bit rows: xxh3 of "<name>/rounding" with the seed.
  uint64_t rounding_key() const { return rounding_key_; }
  // For those who work on the table from several threads (embedding/table/step_plan.h). evict,
  // load_rows, drop_rows, reset and swap_content hold it alone themselves; the others do not touch
  // it.
  SharedMutex& mutex() const { return mutex_; }

  TableStatistics statistics() const;  // no pass over rows
  // The rows seen most often, by descending frequency, then ascending placement_hash; at most
  // `count`. One pass over all rows. REQUIRES: count >= 1.
  std::vector<HotId> hottest(int64_t count) const;

  // Rows in use by ascending placement_hash of their id: the order of checkpoint files.
  std::vector<RowIndex> rows_in_placement_order() const;
  // A copy of all rows in that order. REQUIRES: no tentative rows.
  TableRows export_rows() const;
  // Adds rows or, where the id is there, replaces them. A slot that `rows` lacks gets its initial
  // value. Errors: InvalidArgument for sizes that do not fit, an id that comes twice and an
  // unknown slot; ResourceExhausted for more rows than a limit with on_full FAIL allows;
  // FailedPrecondition inside a step. The table is as before then. Other limits act from the next
  // step on. The log of evicted ids begins anew, after the last step of any row: a copy of
  // the table as it was then lacks these rows.
  absl::Status load_rows(const TableRows& rows);
  // For those who load rows in pieces, straight into store(): rows[i] becomes the row of ids[i],
  // made if it is not there, with initial slots or (kUnset) any; what else there is of it is to be
  // written. Between steps. REQUIRES: ids are distinct. Errors: ResourceExhausted as load_rows;
  // nothing changes then.
  enum class NewSlots { kInitial, kUnset };
  absl::StatusOr<std::vector<RowIndex>> place_rows(absl::Span<const int64_t> ids,
                                                   NewSlots slots = NewSlots::kInitial);
  // The same for rows that are to go; ids without a row are ignored. They do not count as evicted.
  // Rows may get other numbers.
  void drop_rows(absl::Span<const int64_t> ids);
  // Removes all rows, counts and the step count; memory is given back. Slots stay.
  void reset();

  // A table without rows of the same options and slots: rows from a file are gathered in it, and
  // this table has them all or none.
  std::unique_ptr<EmbeddingTable> make_empty() const;
  // Exchanges rows, admission counts, evicted ids and counters. Between steps of both.
  // REQUIRES: `other` was made by make_empty() of this table.
  void swap_content(EmbeddingTable& other);

  // A fingerprint of the content: the sum modulo 2^128 over rows of XXH3-128 of the little-endian
  // bytes of id, weights, slots, frequency and last step. It depends on neither order nor history.
  absl::uint128 content_digest() const;

 private:
  EmbeddingTable(EmbeddingTableOptions options, Initializer initializer,
                 std::unique_ptr<Admission> admission);
  absl::Status check_rows(const TableRows& rows) const;
  TableSnapshot::Parts parts(std::shared_ptr<RowSnapshot> rows) const;
  absl::Status set_row_limit(absl::Span<const SlotSpec> slots);
  int64_t row_bytes(absl::Span<const SlotSpec> slots) const;
  // Rows for `more` further ids. Errors: ResourceExhausted.
  absl::Status check_room(int64_t more) const;
  bool admits(int64_t id) const;
  RowIndex add_row(int64_t id);  // a tentative one
  void count_unadmitted();
  void keep_limit();
  void compact();  // after many rows went: gives memory back, unless a snapshot is read
  // Forgets rows, and writes their ids down as evicted.
  void remove(absl::Span<const RowIndex> rows, int64_t step);
  int64_t committed_rows() const { return store_.size() - static_cast<int64_t>(tentative_.size()); }

  EmbeddingTableOptions options_;
  Initializer initializer_;
  const Kernels& kernels_;
  const uint64_t rounding_key_;
  mutable SharedMutex mutex_;
  std::unique_ptr<Admission> admission_;
  std::optional<EvictionRules> eviction_;
  IdMap map_;
  RowStore store_;
  std::vector<float> weights_;       // scratch: of one row, as float32
  std::vector<RowIndex> tentative_;  // in the order they appeared
  // Ids without a row that occurred in this step, and how often.
  absl::flat_hash_map<int64_t, uint32_t> unadmitted_;
  EvictedLog evicted_;
  TableStatistics counted_;  // what is counted, not what is looked up
  uint32_t hottest_ = 0;     // occurrences of an id in the step that is being committed
  int64_t row_limit_ = std::numeric_limits<int64_t>::max();
  int64_t step_ = 0;  // of the last commit
  int64_t applied_steps_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_H_
