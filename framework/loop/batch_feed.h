// Feeds of the data of training steps.
#ifndef MILLRACE_FRAMEWORK_LOOP_BATCH_FEED_H_
#define MILLRACE_FRAMEWORK_LOOP_BATCH_FEED_H_

#include <c10/core/Stream.h>

#include <cstddef>
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
#include "framework/loop/loop_state.h"
#include "framework/model/model.h"
#include "io/dataset.h"

namespace millrace {

// The micro-batches of one step.
struct StepData {
  std::vector<Batch> micro_batches;
  int64_t examples = 0;  // examples of this rank
  // Targets of each task, of this rank. Empty unless the model counts targets. Set by CountedFeed.
  std::vector<int64_t> targets = {};
  absl::Duration wait = absl::ZeroDuration();  // time of waiting for the micro-batches
  // The micro-batches on the device of the model; empty for a model on the CPU. Set by CountedFeed.
  BatchUpload on_device = {};
};

struct BatchFeedOptions {
  int64_t micro_batches = 1;  // per step
  int64_t tasks = 1;          // labels per example
  absl::Duration data_timeout = absl::Minutes(30);
  // Returns true if waiting for data should stop. Called on any thread. Null: never.
  std::function<bool()> stop_waiting = nullptr;
  // Returns the training time left until the limit of time. Called before each read for training,
  // on the reading thread. Null: no limit.
  std::function<absl::Duration()> time_left = nullptr;
};

// Reads training data one step ahead of the loop. A source that hangs does not hang the loop:
// data_timeout turns the wait into an error (framework/loop/data_watch.h). Used on the trainer's
// thread.
class BatchFeed {
 public:
  // Borrows all arguments. `data`: null if only read() is called.
  BatchFeed(BatchFeedOptions options, Dataset* data, const LoopState& loop, Collectives& ranks,
            Clock& clock);

  // Clears the interruption of an earlier run.
  void begin_run() {
    interrupted_ = false;
    time_is_up_ = false;
  }
  // Stops the use of the collectives by the thread that watches reads. No reads may follow.
  void leave_job() { watch_.stop(); }

  // Returns the data of the next step; null at the end of the data or after an interruption: by
  // stop_waiting, by a failure of another rank or because no time is left during the wait. With
  // several ranks, all ranks get equally many micro-batches, the last of which may be empty.
  // Errors: as read().
  absl::StatusOr<std::unique_ptr<StepData>> next_step();

  // Returns empty micro-batches, for a rank whose data ended before the data of other ranks.
  std::unique_ptr<StepData> padding() const;

  // Reads for about `at_most` and adds the number of examples read, which no step uses, to
  // `examples`. Returns true if this rank has more data. Errors: as read().
  absl::StatusOr<bool> count_rest(absl::Duration at_most, int64_t* examples);

  // Returns a batch of any dataset; none at the end of the data or after an interruption. Time-outs
  // of other ranks do not run during the wait. Afterwards, the phase of this rank is `then`.
  // Errors: as DataWatch::next().
  absl::StatusOr<std::optional<Batch>> read(Dataset& data, RankPhase then);

  // Returns true if a wait of this run was interrupted: this rank may have more data without
  // knowing it, and the source gives no more.
  bool interrupted() const { return interrupted_; }
  // Returns true if the interruption came because no time was left: training has reached its limit.
  bool time_is_up() const { return time_is_up_; }
  // Returns OK unless reading was interrupted without a stop or limit of the run. Errors:
  // Cancelled, since the data gives no more batches and the run must end.
  absl::Status check_interruption() const;
  // Returns true if a source was given up; its threads may hang (DataWatch::gave_up).
  bool gave_up() const { return watch_.gave_up(); }

 private:
  bool must_stop() const;
  absl::StatusOr<std::optional<Batch>> read(Dataset& data, RankPhase then, absl::Duration at_most);
  absl::StatusOr<std::optional<Batch>> read_for_training();

  const BatchFeedOptions options_;
  Dataset* const data_;
  const LoopState& loop_;
  Collectives& ranks_;
  Clock& clock_;
  DataWatch watch_;
  bool interrupted_ = false;
  bool time_is_up_ = false;
  std::optional<Batch> last_;  // of this rank, for the shapes of padding
};

// Reads steps from a BatchFeed, sets StepData::targets to the results of Model::count_targets(),
// summed over the micro-batches, and begins to copy the micro-batches to the device of the model.
// Used on the trainer's thread.
class CountedFeed {
 public:
  // Borrows `feed` and `model`. `tasks`: the number of labels of an example.
  CountedFeed(BatchFeed& feed, Model& model, size_t tasks)
      : feed_(feed), model_(model), tasks_(tasks) {}

  // Returns the data of the next step; null if BatchFeed::next_step() returns null. Errors: as
  // BatchFeed::next_step() and the model; InvalidArgument if the model counts targets only for some
  // batches, or for another number of tasks.
  absl::StatusOr<std::unique_ptr<StepData>> next_step();

  // Returns BatchFeed::padding(). Errors: as next_step().
  absl::StatusOr<std::unique_ptr<StepData>> padding();

 private:
  absl::Status prepare(StepData& data);
  absl::Status count(StepData& data);

  BatchFeed& feed_;
  Model& model_;
  const size_t tasks_;
  std::optional<size_t> counted_tasks_;  // with counted targets; none: no batch yet
  std::optional<c10::Stream> copies_;    // to the device of the model; none: nothing was copied
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_BATCH_FEED_H_
