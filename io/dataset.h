// The sequence of batches of one rank.
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
// Each batch carries the following cursor, so a dataset may read ahead without limit and no example
// is lost or repeated.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // Begins an epoch from its first batch; epochs count from 0 and decide the shuffle. Drops the
  // rest of any other epoch.
  virtual absl::Status start_epoch(int64_t epoch) = 0;

  // Resumes at the position of `cursors`, instead of start_epoch. `cursors` holds one cursor for
  // each rank that wrote them.
  // Errors: InvalidArgument if they do not fit this data; Unimplemented if the dataset has no
  // positions.
  virtual absl::Status seek(absl::Span<const Cursor> cursors) = 0;

  // Returns the next batch, or none at the end of the epoch and on every later call. Blocks until a
  // batch is ready.
  // Errors: DataLoss (damaged data), NotFound, InvalidArgument (data that does not fit the
  // features), naming file, place and column; Cancelled. After an error the dataset is at no
  // defined position until start_epoch or seek.
  virtual absl::StatusOr<std::optional<Batch>> next() = 0;

  // Returns the identity of the data, for checkpoints. May read files. Called once, before the
  // first save or while a state is restored. A WindowedDataset is asked at each save and restore,
  // and must not read files then. The default implementation returns an unknown identity. Errors:
  // as reading files.
  virtual absl::StatusOr<DataIdentity> identity() const { return DataIdentity(); }

  // Makes the current and every later call of next() return Cancelled. May be called from any
  // thread.
  virtual void cancel() = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_DATASET_H_
