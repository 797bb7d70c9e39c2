// Batches of one rank, one after the other.
#ifndef MILLRACE_IO_DATASET_H_
#define MILLRACE_IO_DATASET_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "io/batch.h"
#include "proto/data_identity.pb.h"

namespace millrace {

// A source of batches. Called by one thread, except cancel(). Use:
//
//   RETURN_IF_ERROR(data.start_epoch(0));
//   while (true) {
//     ASSIGN_OR_RETURN(std::optional<Batch> batch, data.next());
//     if (!batch.has_value()) break;
//     ...
//   }
//
// The cursor after a batch travels with it, so a dataset may read ahead as far as it likes and no
// example is lost or repeated.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // Begins an epoch from its first batch; epochs count from 0 and decide the shuffle. What was
  // left of another epoch is dropped.
  virtual absl::Status start_epoch(int64_t epoch) = 0;

  // Continues where `cursors` say, instead of start_epoch: one for each rank that wrote them.
  // Errors: InvalidArgument if they do not fit this data; Unimplemented if the dataset has no
  // positions.
  virtual absl::Status seek(absl::Span<const Cursor> cursors) = 0;

  // The next batch; none at the end of the epoch, and again after it. Blocks until there is one.
  // Errors: DataLoss (damaged data), NotFound, InvalidArgument (data that does not fit the
  // features), naming file, place and column; Cancelled. After an error the dataset is at no
  // defined position until start_epoch or seek.
  virtual absl::StatusOr<std::optional<Batch>> next() = 0;

  // Returns which data this is, for checkpoints. May read files. Called once, before the first save
  // or while a state is restored; of a WindowedDataset at each of them, so that it must not read
  // files then. The default implementation returns that it is not known. Errors: those of reading.
  virtual absl::StatusOr<DataIdentity> identity() const { return DataIdentity(); }

  // Makes next(), also one that waits, return Cancelled, for good. From any thread.
  virtual void cancel() = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_DATASET_H_
