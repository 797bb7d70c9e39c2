// The data of the next step.
#ifndef MILLRACE_FRAMEWORK_LOOP_BATCH_FEED_H_
#define MILLRACE_FRAMEWORK_LOOP_BATCH_FEED_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "distributed/collectives.h"
#include "framework/device/batch_upload.h"
#include "framework/loop/data_watch.h"
#include "framework/loop/loop_position.h"
#include "framework/loop/stop_state.h"
#include "io/dataset.h"

namespace millrace {

// The micro-batches of one step.
struct StepData {
  std::vector<Batch> micro_batches;
  int64_t examples = 0;  // of this rank
  // Of a model that counts targets: those of each task, of this rank. Else empty. Set by
  // CountedFeed.
  std::vector<int64_t> targets = {};
  absl::Duration wait = absl::ZeroDuration();  // for them
  // Of a model on a device: the micro-batches there. Else empty. Set by CountedFeed.
  BatchUpload on_device = {};
};

struct BatchFeedOptions {
  int64_t micro_batches = 1;  // of a step
  int64_t tasks = 1;          // labels of an example
  absl::Duration data_timeout = absl::Minutes(30);
  // Whether to stop waiting for data, called on any thread; null: never.
  std::function<bool()> stop_waiting = nullptr;
};

// Reads training data for the loop, one step ahead of it, and never waits for ever: a source that
// hangs is an error after data_timeout (framework/loop/data_watch.h). Used on the trainer's thread.
class BatchFeed {
 public:
  // All are borrowed. `data`: null if only read() is called. `position` is of this rank.
  BatchFeed(BatchFeedOptions options, Dataset* data, const LoopPosition& position,
            Collectives& ranks, Clock& clock);

  // Forgets an interruption of the run before.
  void begin_run() { interrupted_ = false; }

  // The data of the next step; with several ranks as many micro-batches on each, the last ones
  // empty. Null: there is no more, or the wait for it was interrupted.
  // Errors: those of read().
  absl::StatusOr<std::unique_ptr<StepData>> next_step();

  // Empty micro-batches, for a rank whose data ended before that of others.
  std::unique_ptr<StepData> padding() const;

  // Reads for about `at_most` and adds what no step gets to `examples`. Returns: whether this rank
  // has more. Errors: those of read().
  absl::StatusOr<bool> count_rest(absl::Duration at_most, int64_t* examples);

  // A batch of any dataset; none: it has no more, or the wait was interrupted. Meanwhile no
  // time-out of other ranks runs; `then` is this rank's phase afterwards. Errors: those of
  // DataWatch::next.
  absl::StatusOr<std::optional<Batch>> read(Dataset& data, RankPhase then);

  // Returns true once a wait of this run was interrupted: this rank has more data, but may not know
  // it, and the source gives no more.
  bool interrupted() const { return interrupted_; }
  // Errors: Cancelled if reading was interrupted, but the run was not stopped: the data gives no
  // more batches, so the run must end.
  absl::Status check_interruption(const StopState& stop) const;
  // Returns true once a source was given up: its threads may hang (DataWatch::gave_up).
  bool gave_up() const { return watch_.gave_up(); }

 private:
  const BatchFeedOptions options_;
  Dataset* const data_;
  const LoopPosition& position_;
  Collectives& ranks_;
  Clock& clock_;
  DataWatch watch_;
  bool interrupted_ = false;
  std::optional<Batch> last_;  // of this rank, for the shapes of padding
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_BATCH_FEED_H_
