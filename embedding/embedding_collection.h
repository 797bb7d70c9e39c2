// All embedding tables of a model, looked up in one call.
#ifndef MILLRACE_EMBEDDING_EMBEDDING_COLLECTION_H_
#define MILLRACE_EMBEDDING_EMBEDDING_COLLECTION_H_

#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/byte_buffer.h"
#include "base/thread_pool.h"
#include "embedding/collection_options.h"
#include "embedding/embedding_output.h"
#include "embedding/gradient_summary.h"
#include "embedding/output_buffers.h"
#include "embedding/rows/placement.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/shard/shard_totals.h"
#include "embedding/table/embedding_table.h"
#include "io/batch.h"

namespace millrace {

struct CheckedInput;
struct CollectionStep;
struct IdLists;
struct PoolingOutput;
class ShardStep;

// The update of one table. The optimizer is borrowed for the call.
struct TableUpdate {
  const RowOptimizer* optimizer = nullptr;
  UpdateContext context;
};

// Features that name tables; several may name one. Rows appear when their id does. One step, on one
// rank:
//
//   ASSIGN_OR_RETURN(EmbeddingOutput output, collection->forward(batch.sparse));
//   loss(output).backward();   // both for each micro-batch
//   if (collection->summarize(false).finite) {
//     RETURN_IF_ERROR(collection->apply(progress.step + 1, updates));
//   } else {
//     collection->discard();
//   }
//
// In training (the module is training and gradients are on) forward makes tentative rows and
// remembers what it looked up; backward passes leave their gradients here. Otherwise forward
// changes nothing. An id without a row reads the default value of its table.
//
// The gradients of a row add up over repeated ids, features and micro-batches, in the order of
// the forward calls, for any order of the backward passes; then the row is updated once.
// With set_duplicate_gradients(MEAN) the sum is divided by the number of occurrences of the id.
// Rows of outputs that no backward pass reached are counted as seen and not updated. A frozen table
// (TableConfig.frozen) is only read: nothing of it is inserted, counted or updated. Ids' own
// weights get no gradient. The tables are no parameters of the module: parameters() is empty.
//
// Results do not depend on the number of threads, to the last bit. All calls, and backward passes,
// come from one thread (the trainer's); but forward outside training may be called from several
// threads at once, also while that thread trains.
//
// Over ranks, after shard(): each rank holds the rows of its own ids, and forward() pools from rows
// that were fetched for the whole step before. The collection reads and writes frames; the caller
// carries those of `ids`, `rows` and `sums` between every two ranks. One step:
//
//   collection->begin_requests(/*training=*/true);
//   RETURN_IF_ERROR(collection->request(batch.sparse));        // each micro-batch, in order
//   collection->write_ids(rank, ids_to[rank]);                 // each other rank, as below
//   RETURN_IF_ERROR(collection->read_rows(rank, ids_from[rank], rows_to[rank]));
//   RETURN_IF_ERROR(collection->receive_rows(rank, rows_from[rank]));
//   ... forward and backward of each micro-batch ...
//   collection->write_sums(rank, sums_to[rank]);
//   RETURN_IF_ERROR(collection->receive_sums(rank, sums_from[rank]));
//   ShardTotals totals = collection->owned_totals(with_norm);  // once all sums are there
//   collection->set_totals(sum_over_ranks(totals));
//   if (collection->summarize(with_norm).finite) apply() else discard()
//
// An evaluation of a batch ends with receive_rows() and forward().
class EmbeddingCollection : public torch::nn::Module {
 public:
  // Shared, as LibTorch holds submodules.
  // Errors: InvalidArgument for no feature, two tables or features of one name, a feature that
  // names no table, threads < 1, and what EmbeddingTable::create says.
  static absl::StatusOr<std::shared_ptr<EmbeddingCollection>> create(
      const EmbeddingCollectionOptions& options);
  ~EmbeddingCollection() override;

  // Looks up a micro-batch: `features` in the order of the options. The batch may be empty.
  // Errors: InvalidArgument naming the feature for tensors of another type or size than
  // KeyedJagged says; ResourceExhausted. After the latter in training apply gives the same error:
  // the caller must discard the step.
  absl::StatusOr<EmbeddingOutput> forward(const KeyedJagged& features);

  // Sets an output that forward() returns for any input, without lookups; none: forward() looks ids
  // up. For a model without its tables, evaluated or traced. Called between calls of forward().
  void set_stand_in(std::optional<EmbeddingOutput> output) { stand_in_ = std::move(output); }

  // Sets the device of outputs: forward() pools in pinned memory of the host and copies to the
  // device, in the order of its current stream; backward passes copy gradients back and wait for
  // them. Between steps. Default: the CPU.
  void set_output_device(at::Device device) { output_device_ = device; }

  // Sets what the gradients of an id of tables()[table] become that occurs several times in a step.
  // Between steps. Default: SUM.
  void set_duplicate_gradients(int64_t table, SparseOptimizerConfig::DuplicateGradients become);

  // Returns a summary of the gradients of the step so far. The norm is 0 if they are not finite.
  // Over ranks, covers all ranks after set_totals(), and before it this rank, without a norm.
  GradientSummary summarize(bool with_norm);

  // Updates the tables (over ranks: the rows of this one), updates[i] for tables()[i] (ignored if
  // the table is frozen), and ends the step. `step` becomes the last step of every row seen. A
  // step without forward or backward counts as a step. Does not check that gradients are finite:
  // summarize() does.
  // Errors: the first one of the forward and backward passes; InvalidArgument for the wrong number
  // of updates or numbers out of range, FailedPrecondition for slots that are not bound and, over
  // ranks, before set_totals(); any error of check_step(). Nothing has changed then, and the caller
  // must discard the step.
  absl::Status apply(int64_t step, absl::Span<const TableUpdate> updates);

  // Checks that the tables that are not frozen can be updated in this step. Errors: those of
  // EmbeddingTable::check_step.
  absl::Status check_step(int64_t step) const;

  // Returns the error that apply() would return, except errors of its step, and changes nothing.
  // Over ranks, after set_totals(), also ResourceExhausted naming the table if its limit is FAIL
  // and does not allow the new rows of all ranks.
  absl::Status check(absl::Span<const TableUpdate> updates) const;

  // Ends the step as if it had not been: tables and counts are as before, errors are forgotten.
  // Over ranks, requests and received rows are kept: the same step may be tried again from its
  // forward passes.
  void discard();

  // ---- Over ranks ----

  // Splits every table over the ranks of a job: this collection holds the rows of `placement`. With
  // a world size of 1, too, lookups need requests from then on. Errors: InvalidArgument for more
  // than kPlacementParts ranks; FailedPrecondition naming a table that has rows already.
  absl::Status shard(const Placement& placement);
  bool sharded() const;
  // Returns the placement given to shard(). REQUIRES: sharded().
  const Placement& placement() const;

  // REQUIRES, for all that follows but begin_requests() and request(): sharded(). In frames this
  // collection's part, a multiple of 8 bytes, is one of several: functions append theirs, or
  // consume theirs from the front. Frames that are handed to receive_rows() and receive_sums() are
  // borrowed until apply() or begin_requests(). One at no multiple of 8 in memory is copied.

  // Begins a step, or an evaluation (of a batch): earlier requests, rows and lookups are forgotten.
  // A collection that is not sharded checks lookups against requests in this training step alone.
  void begin_requests(bool training);
  // Announces the ids of a micro-batch, in the order of the forward calls. What forward() looks up
  // later must have been announced; the reverse is not needed. Errors: those of forward().
  absl::Status request(const KeyedJagged& features);
  // Appends the ids that `owner`, another rank, holds. REQUIRES: all requests were made.
  void write_ids(int owner, ByteBuffer& frame);
  // Consumes the ids that another rank wants and appends the answer. Changes nothing in tables.
  // Errors: DataLoss naming rank and table for a part that is damaged, was written for another set
  // of tables, or holds ids of another rank. Then `rows` is as before, and only begin_requests()
  // may follow.
  absl::Status read_rows(int rank, absl::string_view& ids, ByteBuffer& rows);
  // Consumes the answer of another rank to write_ids(). Errors: DataLoss as read_rows().
  absl::Status receive_rows(int owner, absl::string_view& rows);

  // Appends what the step did with the ids of `owner`: how often they were looked up, and their
  // gradients. After the last backward pass. REQUIRES: training.
  void write_sums(int owner, ByteBuffer& frame);
  // Consumes what another rank did with ids of this one. In any order of ranks. Errors: DataLoss as
  // read_rows(); then only discard() and begin_requests() may follow.
  absl::Status receive_sums(int rank, absl::string_view& sums);
  // Adds up the gradients of this rank's rows and returns its share of the totals; this rank's own
  // gradients, also those of frozen tables and of ids without a row, are checked too.
  // REQUIRES: the sums of all ranks from which ids came were received.
  ShardTotals owned_totals(bool with_norm);
  // Sets the sum of all ranks' totals: what summarize() and check() say from then on, until the
  // step ends.
  void set_totals(const ShardTotals& of_all_ranks);
  // Checks that the limits of the tables allow the new rows of all ranks, after set_totals().
  // Errors: ResourceExhausted naming the table, if its limit is FAIL.
  absl::Status check_limits() const;
  // Sets how many rows each table has on all ranks together, at the beginning of a step: what the
  // limits FAIL and REJECT look at. Before read_rows(). With a world size of 1 the table itself
  // knows; with more, tables without this figure have no limit. EVICT limits of tables of several
  // ranks are not enforced here.
  void set_rows_of_all_ranks(absl::Span<const int64_t> rows);

  const EmbeddingCollectionOptions& options() const { return options_; }
  // In the order of options().tables.
  absl::Span<const std::unique_ptr<EmbeddingTable>> tables() const { return tables_; }
  // Borrowed from the collection. Errors: NotFound naming the nearest.
  absl::StatusOr<EmbeddingTable*> table(absl::string_view name) const;
  // Where features stand in outputs, in the order of options().features.
  const std::vector<FeaturePlace>& places() const { return *places_; }
  // Columns of EmbeddingOutput::pooled.
  int64_t pooled_dim() const { return pooled_dim_; }

  // REQUIRES: threads >= 1. Between calls at any time.
  void set_threads(int threads);

 private:
  explicit EmbeddingCollection(EmbeddingCollectionOptions options);
  absl::Status make_tables();
  absl::Status make_places();
  absl::Status look_up(const CheckedInput& input, bool training, std::vector<at::Tensor>& outputs);
  // Looks up one feature of a table: for a backward pass and an update, if in training and the
  // table is not frozen.
  absl::Status look_up(int64_t table, bool training, const IdLists& lists,
                       const PoolingOutput& output);
  absl::StatusOr<CheckedInput> check_input(const KeyedJagged& features);
  // For messages: its name, and those of its features.
  std::string describe(int64_t table) const;
  bool frozen(int64_t table) const { return options_.tables[table].frozen(); }
  // Returns the number of a feature's next lookup in the plan of its table; -1 if that is frozen.
  int64_t next_lookup(int64_t feature) const;
  bool own_gradients_are_finite(int64_t table) const;
  // Adds up what all ranks' gradients are for rows of a table of this one. Returns: if finite.
  bool add_up_owned(int64_t table);
  GradientSummary summary_of(const ShardTotals& totals) const;
  // Of what came back to a frozen table, which no plan knows.
  bool frozen_gradients_are_finite(int64_t table) const;
  // Calls body(i) for i below `count`, on several threads if the work is worth it.
  void for_each(int64_t ids, int64_t count, const std::function<void(int64_t)>& body);
  // The same for all tables, in turns from either end, so that a loop begins with what is cached.
  void for_each_table(int64_t ids, const std::function<void(int64_t)>& body);

  EmbeddingCollectionOptions options_;
  std::vector<std::unique_ptr<EmbeddingTable>> tables_;
  std::vector<std::vector<int64_t>> features_of_;            // of each table
  std::shared_ptr<const std::vector<FeaturePlace>> places_;  // shared with outputs and the step
  int64_t pooled_dim_ = 0;
  int64_t unpooled_features_ = 0;
  std::optional<EmbeddingOutput> stand_in_;
  at::Device output_device_ = at::kCPU;
  std::shared_ptr<OutputBuffers> buffers_;  // shared with tensors in their memory
  std::mutex pool_mutex_;                   // of whoever uses the pool
  std::unique_ptr<ThreadPool> pool_;
  std::atomic<uint32_t> table_loops_{0};  // so far
  // Owned here; graphs of backward passes hold it weakly, since they may outlive the collection.
  std::shared_ptr<CollectionStep> step_;
  std::unique_ptr<ShardStep> shard_;  // null: not over ranks
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_EMBEDDING_COLLECTION_H_
