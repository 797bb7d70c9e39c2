// One source of mixed data.
#ifndef MILLRACE_IO_MIX_MIX_SOURCE_READER_H_
#define MILLRACE_IO_MIX_MIX_SOURCE_READER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "io/cursor.h"
#include "io/epoch/batcher.h"
#include "io/epoch/epoch_reader.h"
#include "io/epoch/epoch_source.h"

namespace millrace {

// Gives rows of a source in the numbers that are asked for, pass after pass if it repeats
// (io/mix/source_passes.h). Used by one thread, except cancel().
//
//   ASSIGN_OR_RETURN(const int64_t count, reader.available(7));
//   reader.take(count, &pieces);
//   use(pieces);
//   reader.release();  // position() is now behind them
class MixSourceReader {
 public:
  // Continues behind `start`, the open passes in order. `source` must outlive the reader.
  // REQUIRES: start is not empty.
  MixSourceReader(const EpochSource& source, bool repeats, SourcePosition start);

  bool repeats() const { return repeats_; }

  // Reads until `count` rows are ready, or none are left. Returns: the number ready, at most
  // `count`; `count` if it repeats. Errors: as reading files; DataLoss if a source that repeats has
  // nothing to give.
  absl::StatusOr<int64_t> available(int64_t count);

  // Appends the next `count` rows, good until release(), before which there is no other call of it.
  // REQUIRES: as many are available.
  void take(int64_t count, std::vector<BatchPiece>* pieces);

  // Returns: the bad examples that count with what was taken, as Batch::bad_examples.
  int64_t release();

  // Returns the open passes, in order, behind the rows that were released.
  SourcePosition position() const;

  // Makes the current and every later call of available() return Cancelled. From any thread.
  void cancel();

 private:
  struct Pass {
    std::unique_ptr<EpochReader> reader;
    bool is_whole = false;  // a whole share of a pass: positions need not name it
  };

  absl::Status open_pass(PassPosition start, bool is_whole);
  absl::Status open_next_pass();

  const EpochSource& source_;
  const bool repeats_;
  std::deque<PassPosition> later_;  // passes that are no whole share and not open yet
  int64_t last_epoch_ = 0;          // of the last open pass
  int64_t empty_passes_ = 0;        // in a row
  absl::Status opened_;             // the first pass

  Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Changed by the one user, under the mutex, since cancel() reads it. Never empty unless the first
  // could not be opened.
  std::deque<Pass> passes_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_MIX_MIX_SOURCE_READER_H_
