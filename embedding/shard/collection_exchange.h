// The exchange of ranks about the tables of one collection.
#ifndef MILLRACE_EMBEDDING_SHARD_COLLECTION_EXCHANGE_H_
#define MILLRACE_EMBEDDING_SHARD_COLLECTION_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/byte_buffer.h"
#include "embedding/rows/placement.h"
#include "embedding/shard/shard_totals.h"

namespace millrace {

enum class PartKind : uint32_t;
class ShardPlans;
struct KeyedJagged;
struct PartHeader;

// The exchange between the ranks of a job for all tables of one EmbeddingCollection, which owns the
// exchange (EmbeddingCollection::exchange()). Each rank holds the rows of the ids it owns, and
// forward() pools rows that were fetched before, for the whole step. This class only writes and
// reads parts of frames. The caller sends the frames of ids, rows and sums between every two ranks.
// One step:
//
//   exchange.begin(/*training=*/true);
//   exchange.set_rows_of_all_ranks(rows);                 // if tables have limits
//   RETURN_IF_ERROR(exchange.request(batch.sparse));      // each micro-batch, in order
//   exchange.write_ids(rank, ids_to[rank]);               // each other rank, as below
//   RETURN_IF_ERROR(exchange.read_rows(rank, ids_from[rank], rows_to[rank]));
//   RETURN_IF_ERROR(exchange.receive_rows(rank, rows_from[rank]));
//   ... forward and backward pass of each micro-batch ...
//   exchange.write_sums(rank, sums_to[rank]);
//   RETURN_IF_ERROR(exchange.receive_sums(rank, sums_from[rank]));
//   ShardTotals totals = exchange.owned_totals(with_norm);   // after the sums of all ranks
//   exchange.set_totals(sum_over_ranks(totals));
//   if (collection.summarize(with_norm).finite) collection.apply(...) else collection.discard()
//
// EmbeddingCollection::discard() keeps requests and received rows: after repeat() the step may be
// repeated from its forward passes. The evaluation of a batch ends with receive_rows() and
// forward(). From begin() or repeat() to the end of a training step, the tables refuse changes of
// their content (EmbeddingTable::in_step()).
//
// A frame may consist of several parts; the part of this collection has a multiple of 8 bytes.
// Functions append their part to a frame, or consume their part from its front. Frames passed to
// receive_rows() and receive_sums() are borrowed until the step ends or the next begin(). A part at
// an address that is no multiple of 8 is copied.
//
// Errors of functions that consume a part: DataLoss naming rank and table if the part is damaged,
// was written for another set of tables, or has ids of another rank. After an error only begin()
// may follow; after an error of receive_sums() also EmbeddingCollection::discard().
//
// Called by the training thread.
class CollectionExchange {
 public:
  // The functions of the collection that the exchange calls.
  struct Collection {
    using OfTable = std::function<void(int64_t table)>;
    using OfIds = std::function<void(int64_t table, absl::Span<const int64_t> ids)>;

    // Calls body(t) for each table, on several threads if `ids`, the number of ids, is worth them.
    std::function<void(int64_t ids, const OfTable& body)> for_each_table;
    // Checks `features` and calls body(t, ids) for each feature of each table t. Different tables
    // may be on different threads. Errors: InvalidArgument, as EmbeddingCollection::forward() for
    // bad tensors.
    std::function<absl::Status(const KeyedJagged& features, const OfIds& body)> for_each_feature;
    // Returns true if the gradients of this rank's lookups in a table are finite.
    std::function<bool(int64_t table)> gradients_are_finite;
    // Calls EmbeddingCollection::discard().
    std::function<void()> discard;
  };

  // Borrows the plans.
  CollectionExchange(ShardPlans& plans, Collection collection)
      : plans_(plans), collection_(std::move(collection)) {}
  CollectionExchange(const CollectionExchange&) = delete;
  CollectionExchange& operator=(const CollectionExchange&) = delete;

  // Returns true after EmbeddingCollection::shard(). REQUIRES of all functions except begin(),
  // request() and check_limits(): sharded().
  bool sharded() const;
  // Returns the placement of the tables.
  const Placement& placement() const;

  // Begins a step, or the evaluation of a batch: discards earlier requests, rows and lookups. If
  // not sharded, only checks lookups against requests, in this training step.
  void begin(bool training);
  // Begins the same step again after EmbeddingCollection::discard(), with the received rows.
  // REQUIRES: no table has changed since begin().
  void repeat();
  // Sets the number of rows of each table over all ranks, for limits with on_full FAIL and REJECT
  // in this step. Called before read_rows(). With a world size of 1 the table uses its own number
  // of rows; with more, a table without this number has no limit. Limits with EVICT_LRU or
  // EVICT_LFU of tables on several ranks are enforced elsewhere
  // (TableMaintenance::rows_beyond_limit()).
  void set_rows_of_all_ranks(absl::Span<const int64_t> rows);
  // Announces the ids of a micro-batch, in the order of the forward calls. forward() may look up
  // only announced ids; announced ids without a lookup have no effect. Errors: InvalidArgument, as
  // EmbeddingCollection::forward() for bad tensors.
  absl::Status request(const KeyedJagged& features);

  // Appends the requested ids that `owner`, another rank, holds. REQUIRES: all requests were made.
  void write_ids(int owner, ByteBuffer& frame);
  // Consumes the ids that another rank requests and appends their rows to `rows`. Changes no table.
  // After an error `rows` is unchanged.
  absl::Status read_rows(int rank, absl::string_view& ids, ByteBuffer& rows);
  // Consumes the rows of `owner`, its answer to write_ids().
  absl::Status receive_rows(int owner, absl::string_view& rows);

  // Appends the number of lookups of each id of `owner`, and the sums of gradients. Called after
  // the last backward pass. REQUIRES: training.
  void write_sums(int owner, ByteBuffer& frame);
  // Consumes the counts and sums of another rank for ids of this rank. Ranks may be in any order.
  absl::Status receive_sums(int rank, absl::string_view& sums);

  // Adds up the gradients of this rank's rows and returns this rank's share of the totals. The
  // share includes the finiteness of gradients of this rank's lookups in frozen tables and of ids
  // without a row. REQUIRES: receive_sums() succeeded for all ranks that sent ids.
  ShardTotals owned_totals(bool with_norm);
  // Sets the totals of all ranks, for EmbeddingCollection::summarize() and check() until the step
  // ends.
  void set_totals(const ShardTotals& of_all_ranks);
  // Checks that the limits of the tables allow the new rows of all ranks; OK before set_totals().
  // Errors: ResourceExhausted naming the first table whose limit is exceeded and has on_full FAIL.
  absl::Status check_limits() const;
  // Checks that this rank can hold its new rows. Errors: ResourceExhausted naming the table.
  // REQUIRES: owned_totals() was called.
  absl::Status check_own_rows() const;

 private:
  struct Section;  // the pieces of one table in a part

  PartHeader header(PartKind kind) const;
  // Appends a part with bytes[t] for table t, and calls write(t, to) for each table with bytes.
  void write_part(PartKind kind, const std::vector<size_t>& bytes, ByteBuffer& frame,
                  const std::function<void(int64_t table, char* to)>& write);
  // Calls body(t) for each table. Returns the error of the first table with an error.
  absl::Status for_each(int64_t ids, const std::function<absl::Status(int64_t)>& body);
  absl::Status parse_rows(int owner, absl::string_view& rows, std::vector<Section>& sections);
  absl::Status parse_sums(int rank, absl::string_view& sums, std::vector<Section>& sections);
  // Returns the beginning of the part that was read from `begin`; of a copy in `copy` if the part
  // is not aligned.
  const char* aligned(const char* begin, const char* end, ByteBuffer& copy) const;
  absl::Status set_remote_sums(int rank, int64_t table, const Section& section);

  ShardPlans& plans_;
  const Collection collection_;
  std::vector<ByteBuffer> row_copies_, sum_copies_;  // by rank: see aligned()
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_COLLECTION_EXCHANGE_H_
