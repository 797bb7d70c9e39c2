// Prepares the data of the next step for the model.
#ifndef MILLRACE_FRAMEWORK_LOOP_COUNTED_FEED_H_
#define MILLRACE_FRAMEWORK_LOOP_COUNTED_FEED_H_

#include <c10/core/Stream.h>

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "framework/loop/batch_feed.h"
#include "framework/model/model.h"

namespace millrace {

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

#endif  // MILLRACE_FRAMEWORK_LOOP_COUNTED_FEED_H_
