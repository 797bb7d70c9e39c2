// Transfers rows and gradients of embedding tables between the ranks of a step.
#ifndef MILLRACE_FRAMEWORK_RANKS_TABLE_EXCHANGE_H_
#define MILLRACE_FRAMEWORK_RANKS_TABLE_EXCHANGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/byte_buffer.h"
#include "embedding/embedding_collection.h"
#include "embedding/shard/collection_exchange.h"
#include "framework/model/model.h"
#include "framework/ranks/agreement.h"
#include "hook/phase.h"
#include "io/batch.h"

namespace millrace {

// The exchanges of one training step or evaluation batch, for all tables of all collections of a
// model at once. Every rank makes the same sequence:
//
//   begin(Phase::kTrain, step)
//   fetch(micro_batches)    // ids to their owners; rows back
//   ...                     // forward and backward passes, without communication
//   exchange_sums()         // sums of gradients to the owners; not in evaluation
//
// A rank that fails between begin() and the last of these exchanges calls fail(): the rank takes
// part in the next exchange as failed, all other ranks get an error there, and the run is over
// (Agreement::gather_failures). No rank waits for a rank that failed.
//
// The messages use the table channel of Collectives. Each begins with a magic number, the kind of
// the exchange, the phase, and a flag for a failed rank. The parts of the collections follow, in
// the order of the model's modules.
//
// With one rank nothing is exchanged: fetch() checks in the first training step that the model
// announces the ids that it looks up. Does nothing if the model has no table. Used on the trainer's
// thread.
class TableExchange {
 public:
  // Borrows all arguments. REQUIRES: with several ranks the collections are sharded
  // (EmbeddingCollection::shard).
  TableExchange(Agreement& agreement, Model& model, std::vector<EmbeddingCollection*> collections);

  // Returns true if tables are sharded over ranks, so that the other functions communicate.
  bool active() const { return active_; }

  // Begins a step or an evaluation batch: the exchange of ids comes next. `step`: for messages of
  // other ranks about this rank.
  void begin(Phase phase, int64_t step);
  // Begins the same step again after a refusal, with the rows already fetched: the exchange of sums
  // comes next.
  void repeat();

  // Ends the step of all collections as if it had not begun. For a step that fails before the train
  // step could do so.
  void discard();

  // Asks the model for the lookups of these micro-batches, and fetches their rows. Collective.
  // Errors: Aborted if another rank failed; own errors of this rank: as Model::lookups() and
  // CollectionExchange::request(), DataLoss for a frame that cannot be read. If due() is true
  // afterwards, the other ranks do not know the error yet: call fail(). With one rank, fetch() has
  // the collections check the lookups of the first training step, and does nothing in other steps.
  absl::Status fetch(absl::Span<const Batch> micro_batches);

  // Sends the sums of gradients to their owners. Called after the last backward pass. Collective.
  // Errors: as fetch().
  absl::Status exchange_sums();

  // Returns true if this step or batch has another exchange to make.
  bool due() const { return next_ != Kind::kNone; }
  // Takes part in the next exchange as failed, unless no exchange remains or the run is over.
  // Returns `failure`. Collective.
  absl::Status fail(const absl::Status& failure);

  // Returns numbers about this rank's rows, which ranks sum before the decision about a step. The
  // length is equal on all ranks; empty if the exchange is not active. REQUIRES: exchange_sums()
  // succeeded.
  std::vector<double> totals();
  // Checks that this rank can hold its new rows. Errors: ResourceExhausted naming the table; the
  // caller must report it to the other ranks. REQUIRES: totals() was called.
  absl::Status check_own_rows() const;
  // Returns the totals of a rank without rows.
  std::vector<double> empty_totals() const;
  // Sets the sums over ranks of totals(), from which the collections know the norm of all gradients
  // and the number of new rows. Errors: ResourceExhausted naming the table if the limit of a table
  // is FAIL and does not allow the new rows.
  absl::Status set_totals(absl::Span<const double> sums);
  // Returns the first table with non-finite gradients, of any rank or summed, with its features;
  // "": none. Equal on all ranks. REQUIRES: set_totals() was called, if active().
  std::string not_finite();

  // Removes rows of tables that have more rows, over all ranks, than a limit with on_full EVICT_LRU
  // or EVICT_LFU allows: the rows that a single rank with all rows would remove. Called after a
  // step was applied. Collective if a table is over its limit, which all ranks know equally.
  // Errors: as Agreement::meet() at `place`, and Collectives.
  absl::Status enforce_limits(Place place);

  // Returns the number of tables of all collections; 0 if the exchange is not active.
  int64_t tables() const;
  // Returns the committed rows of each table on this rank.
  std::vector<int64_t> rows() const;
  // Sets the sum over ranks of rows(). Called before fetch(), since limits apply to all ranks
  // together.
  void set_rows(absl::Span<const int64_t> rows);

 private:
  enum class Kind : uint8_t { kNone, kIds, kRows, kSums };

  // Writes and reads the part of one collection in the frame to or from another rank.
  using WritePart = absl::FunctionRef<absl::Status(CollectionExchange&, int rank, ByteBuffer&)>;
  using ReadPart =
      absl::FunctionRef<absl::Status(CollectionExchange&, int rank, absl::string_view&)>;

  absl::Status announce(absl::Span<const Batch> micro_batches);
  // Builds this rank's requests.
  absl::Status request(absl::Span<const Batch> micro_batches);
  // Fills the frames to all other ranks.
  absl::Status write_frames(Kind kind, WritePart write);
  // Exchanges frames. If `own` is an error, the frames contain only the failure of this rank.
  absl::Status exchange(Kind kind, const absl::Status& own);
  // Reads the parts of all collections in the frames of all other ranks.
  absl::Status read_frames(Kind kind, ReadPart read);
  std::vector<ByteBuffer>& received(Kind kind);
  absl::Status evict(TableMaintenance& table, int64_t count);
  // Adds an exchange of training to Agreement::figures().
  void count(Kind kind, const TableTraffic& before, const TableTraffic& after);
  // Checks the header of another rank's frame. Returns true if that rank failed.
  absl::StatusOr<bool> check_header(Kind kind, int rank);
  int rank() const { return agreement_.collectives().rank(); }
  int world_size() const { return agreement_.collectives().world_size(); }

  Agreement& agreement_;
  Model& model_;
  const std::vector<EmbeddingCollection*> collections_;
  const bool active_;
  Phase phase_ = Phase::kTrain;
  int64_t step_ = 0;
  Kind next_ = Kind::kNone;
  bool announced_ = false;  // with one rank: the lookups of the first step
  // Rows of each table, over all ranks: before the current step, and added by it.
  std::vector<int64_t> rows_, new_rows_;
  // Frames by rank. Collections borrow received rows and sums until the step ends, and a repeated
  // step reads its rows again.
  std::vector<ByteBuffer> sent_, ids_, rows_received_, sums_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_TABLE_EXCHANGE_H_
