#include "config/step_size.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

// Returns the least divisor of `share` that is at least `least`; `share` itself is one.
int64_t least_divisor(int64_t share, int64_t least) {
  while (share % least != 0) ++least;
  return least;
}

}  // namespace

absl::Status check_step_size(absl::string_view where, const TrainConfig& train) {
  RETURN_IF_ERROR(at_least(where, "global_batch_size", train.global_batch_size(), 0));
  RETURN_IF_ERROR(at_least(where, "max_micro_batch_size", train.max_micro_batch_size(), 0));
  if (train.global_batch_size() == 0) {
    if (train.max_micro_batch_size() == 0) return absl::OkStatus();
    return wrong(where, "max_micro_batch_size needs global_batch_size");
  }
  if (train.has_micro_batches() || train.train_data().has_batch_size()) {
    return wrong(where,
                 "global_batch_size determines micro_batches and train_data.batch_size; give it "
                 "or them");
  }
  return absl::OkStatus();
}

absl::StatusOr<StepSize> step_size(const TrainConfig& train, int64_t ranks) {
  const int64_t global = train.global_batch_size();
  if (global == 0) return StepSize{train.train_data().batch_size(), train.micro_batches()};
  if (global % ranks != 0) {
    const int64_t below = global / ranks * ranks;
    return absl::InvalidArgumentError(absl::StrCat("global_batch_size is ", global, ", which ",
                                                   ranks, " ranks do not divide; the nearest are ",
                                                   below > 0 ? absl::StrCat(below, " and ") : "",
                                                   below + ranks));
  }
  const int64_t share = global / ranks;
  const int64_t most = train.max_micro_batch_size() == 0 ? share : train.max_micro_batch_size();
  const int64_t least = (share + most - 1) / most;
  const int64_t micro_batches = least_divisor(share, least);
  if (micro_batches > 2 * least) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_micro_batch_size is ", most, ", but the ", share,
        " examples of a rank divide only into micro-batches of at most ", share / micro_batches,
        "; choose a global_batch_size with more divisors, such as ", least * most * ranks));
  }
  return StepSize{share / micro_batches, micro_batches};
}

}  // namespace millrace
