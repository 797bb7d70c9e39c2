// The embedding tables of a model, looked up in one call.
#ifndef MILLRACE_EMBEDDING_EMBEDDING_COLLECTION_H_
#define MILLRACE_EMBEDDING_EMBEDDING_COLLECTION_H_

#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/thread_pool.h"
#include "embedding/collection_options.h"
#include "embedding/embedding_output.h"
#include "embedding/gradient_summary.h"
#include "embedding/output_buffers.h"
#include "embedding/row_lookup.h"
#include "embedding/rows/placement.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/shard/collection_exchange.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/record_source.h"
#include "io/batch.h"

namespace millrace {

class ShardPlans;
struct CheckedInput;
struct CollectionStep;
struct IdLists;
struct PoolingOutput;

// The update of one table. Borrows the optimizer for the call.
struct TableUpdate {
  const RowOptimizer* optimizer = nullptr;
  UpdateContext context;
};

// The embedding tables of a model, as a submodule. Each feature names a table; several features may
// name one table. The row of an id is inserted when the id first occurs in training and is
// admitted. One step on one rank:
//
//   ASSIGN_OR_RETURN(EmbeddingOutput output, collection->forward(batch.sparse));
//   loss(output).backward();   // both for each micro-batch
//   if (collection->summarize(false).finite) {
//     RETURN_IF_ERROR(collection->apply(progress.step + 1, updates));
//   } else {
//     collection->discard();
//   }
//
// In training (the module is in training mode and gradients are enabled) forward() inserts
// tentative rows and records its lookups, and backward passes store their gradients in the
// collection. Outside training forward() changes no table. An id without a row reads the default
// value of its table.
//
// The gradients of a row are summed over repeated ids, features and micro-batches. The order of the
// sum is the order of the forward calls and does not depend on the order of backward passes. Then
// the row is updated once. With set_duplicate_gradients(MEAN) the sum is divided by the number of
// occurrences of the id. Rows without a gradient in the step are counted as seen and not updated. A
// frozen table (TableConfig.frozen) is read only: none of its rows is inserted, counted or updated.
// Weights of ids get no gradient. Tables are not parameters of the module: parameters() is empty.
//
// Results are bitwise equal for any number of threads. One thread (the trainer's) makes all calls
// and backward passes, with one exception: several threads may call forward() outside training at
// the same time, also while the trainer's thread trains.
//
// The tables can be sharded over the ranks of a job: see shard() and exchange().
class EmbeddingCollection : public torch::nn::Module, private RowLookup {
 public:
  // Creates a collection. The result is shared, since LibTorch holds submodules by shared_ptr.
  // Errors: InvalidArgument if there is no feature, two tables or two features have the same name,
  // a feature names no table, a max_ids is invalid (check_max_ids()), or threads < 1; errors of
  // EmbeddingTable::create().
  static absl::StatusOr<std::shared_ptr<EmbeddingCollection>> create(
      const EmbeddingCollectionOptions& options);
  ~EmbeddingCollection() override;

  // Looks up a micro-batch: `features` in the order of the options. The batch may be empty. Calls
  // RowLookup::look_up() of set_lookup(), by default of this collection.
  // Errors of this collection: InvalidArgument naming the feature if tensors have another type or
  // size than KeyedJagged states, or if an id was not announced or its row was not received (see
  // CollectionExchange); ResourceExhausted if a limit does not allow new rows; FailedPrecondition
  // if sharded and in training without CollectionExchange::begin(). If the lookup of a table fails
  // in training, apply() returns the same error: the step must be discarded.
  absl::StatusOr<EmbeddingOutput> forward(const KeyedJagged& features) {
    return lookup_->look_up(features);
  }

  // Makes forward() call `lookup` in place of the tables; nullptr restores the tables. `lookup` is
  // borrowed until the next call of set_lookup(). Serves models that are evaluated, served or
  // traced without their tables. Must not be called during forward().
  void set_lookup(RowLookup* lookup) { lookup_ = lookup != nullptr ? lookup : this; }

  // Makes lookups outside training read `source` in place of the rows of tables()[table]; null
  // restores the rows. Must not be called during forward(). REQUIRES: not sharded.
  void set_records(int64_t table, std::shared_ptr<const RecordSource> source) {
    records_[table] = std::move(source);
  }

  // Sets the device of outputs. For a device other than the CPU, forward() pools in pinned memory
  // of the host and copies to the device, in the order of its current stream; backward passes copy
  // gradients back and wait for the copies. Must be called between steps. Default: the CPU.
  void set_output_device(at::Device device) { output_device_ = device; }

  // Sets how the gradients of an id of tables()[table] are combined if the id occurs several times
  // in a step. Must be called between steps. Default: SUM.
  void set_duplicate_gradients(int64_t table, SparseOptimizerConfig::DuplicateGradients become);

  // Returns a summary of the gradients of the step so far. The norm is 0 if a gradient is not
  // finite. If sharded, the summary covers this rank and has no norm before
  // CollectionExchange::set_totals(), and covers all ranks after it.
  GradientSummary summarize(bool with_norm);

  // Updates the tables, tables()[i] by updates[i] (ignored if the table is frozen), and ends the
  // step. If sharded, updates the rows of this rank. `step` becomes the last step of every row
  // seen. A step without forward or backward passes counts as a step. Does not check that gradients
  // are finite: see summarize().
  // Errors: the first error of the forward and backward passes; InvalidArgument for a wrong number
  // of updates or numbers out of range; FailedPrecondition for slots that are not bound, for a
  // gradient that was changed after its backward pass and, if sharded, before
  // CollectionExchange::set_totals(); errors of check_step() and
  // CollectionExchange::check_limits(). After an error nothing has changed, and the step must still
  // be discarded.
  absl::Status apply(int64_t step, absl::Span<const TableUpdate> updates);

  // Checks that the tables, except frozen ones, can be updated in this step. Errors: as
  // EmbeddingTable::check_step().
  absl::Status check_step(int64_t step) const;

  // Returns the error that apply() would return for these updates, without a change. Omits
  // check_step(). If sharded, includes CollectionExchange::check_limits() after
  // CollectionExchange::set_totals().
  absl::Status check(absl::Span<const TableUpdate> updates) const;

  // Ends the step as if it had not begun: restores tables and counts, and forgets errors. If
  // sharded, keeps requests and received rows for CollectionExchange::repeat().
  void discard();

  // Shards every table over the ranks of a job: this collection holds the rows of `placement`,
  // which is made fine for more than kMostCoarseRanks ranks if no table has a sketch. From then on
  // lookups need requests (see exchange()), also with a world size of 1. Errors: InvalidArgument
  // for more than kPlacementParts ranks; FailedPrecondition naming a table with rows.
  absl::Status shard(const Placement& placement);
  // Returns the exchange of rows and gradients with other ranks. On one rank the exchange can check
  // that lookups were announced. Owned by the collection.
  CollectionExchange& exchange() const { return *exchange_; }

  const EmbeddingCollectionOptions& options() const { return options_; }
  // Returns the tables in the order of options().tables.
  absl::Span<const std::unique_ptr<EmbeddingTable>> tables() const { return tables_; }
  // Returns a table, borrowed from the collection. Errors: NotFound, suggesting the most similar
  // name.
  absl::StatusOr<EmbeddingTable*> table(absl::string_view name) const;
  // Returns the place of each feature in outputs, in the order of options().features.
  const std::vector<FeaturePlace>& places() const { return *places_; }
  // Returns the number of columns of EmbeddingOutput::pooled.
  int64_t pooled_dim() const { return pooled_dim_; }

 private:
  explicit EmbeddingCollection(EmbeddingCollectionOptions options);
  absl::Status make_tables();
  absl::Status make_places();
  void make_exchange();

  // Looks up features in the tables of this collection.
  absl::StatusOr<EmbeddingOutput> look_up(const KeyedJagged& features) override;
  absl::Status look_up_tables(const CheckedInput& input, bool training,
                              std::vector<at::Tensor>& outputs);
  // Looks up one feature of a table. In training, records the lookup for a backward pass and an
  // update, unless the table is frozen.
  absl::Status look_up_feature(int64_t table, bool training, const IdLists& lists,
                               const PoolingOutput& output);
  absl::StatusOr<CheckedInput> check_input(const KeyedJagged& features);
  // Returns the name of a table and its features, for messages.
  std::string describe(int64_t table) const;
  bool frozen(int64_t table) const { return options_.tables[table].frozen(); }
  bool sharded() const { return exchange_->sharded(); }
  // Returns the number of a feature's next lookup in its table; -1 if the table is frozen.
  int64_t next_lookup(int64_t feature) const;
  GradientSummary summary_of(const ShardTotals& totals) const;
  bool own_gradients_are_finite(int64_t table) const;
  // Checks the gradients of a frozen table, which has no lookups in a plan.
  bool frozen_gradients_are_finite(int64_t table) const;
  // Calls body(i) for each i below `count`, on several threads if `ids`, the number of ids, is
  // worth them.
  void for_each(int64_t ids, int64_t count, const std::function<void(int64_t)>& body);
  // Calls body(t) for each table t, alternately in ascending and descending order, so that a loop
  // begins with tables that are still in the caches.
  void for_each_table(int64_t ids, const std::function<void(int64_t)>& body);

  EmbeddingCollectionOptions options_;
  std::vector<std::unique_ptr<EmbeddingTable>> tables_;
  std::vector<std::shared_ptr<const RecordSource>> records_;  // of each table; null: its own
  std::vector<std::vector<int64_t>> features_of_;             // of each table
  std::shared_ptr<const std::vector<FeaturePlace>> places_;   // shared with outputs and the step
  int64_t pooled_dim_ = 0;
  int64_t unpooled_features_ = 0;
  RowLookup* lookup_ = this;
  at::Device output_device_ = at::kCPU;
  std::shared_ptr<OutputBuffers> buffers_;  // shared with tensors in its memory
  std::mutex pool_mutex_;                   // held by the thread that uses the pool
  const std::unique_ptr<ThreadPool> pool_;
  std::atomic<uint32_t> table_loops_{0};  // number of loops so far, for their direction
  // Owned by the collection. Autograd graphs hold weak references, since they may outlive it.
  std::shared_ptr<CollectionStep> step_;
  std::unique_ptr<ShardPlans> shard_;
  std::unique_ptr<CollectionExchange> exchange_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_EMBEDDING_COLLECTION_H_
