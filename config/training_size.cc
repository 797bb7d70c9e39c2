#include "config/training_size.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/cursor.h"
#include "proto/config_fingerprint.h"
#include "proto/data_windows.h"
#include "proto/field_check.h"
#include "proto/message_visit.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Returns the least divisor of `share` in [least, 2 * least]; 0 if none exists.
int64_t divisor_near(int64_t share, int64_t least) {
  for (int64_t divisor = least; divisor <= std::min(2 * least, share); ++divisor) {
    if (share % divisor == 0) return divisor;
  }
  return 0;
}

}  // namespace

absl::Status check_step_size(absl::string_view where, const TrainConfig& train) {
  RETURN_IF_ERROR(check_own_ranges(where, train));
  if (train.global_batch_size() == 0) {
    if (train.max_micro_batch_size() == 0) return absl::OkStatus();
    return wrong(where, "max_micro_batch_size needs global_batch_size");
  }
  // A default that is written out is no contradiction.
  if (train.micro_batches() != TrainConfig().micro_batches() ||
      train.train_data().batch_size() != DataConfig().batch_size()) {
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
  const int64_t most =
      train.max_micro_batch_size() == 0 ? share : std::min(share, train.max_micro_batch_size());
  // Each micro-batch has a fixed cost, so the search begins at the least number.
  const int64_t least = (share - 1) / most + 1;
  const int64_t micro_batches = divisor_near(share, least);
  if (micro_batches == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_micro_batch_size is ", most, ", but with ", ranks, ranks == 1 ? " rank" : " ranks",
        " the ", share,
        " examples of each divide only into micro-batches below half of that; choose a "
        "global_batch_size with more divisors, such as ",
        least * most * ranks));
  }
  return StepSize{share / micro_batches, micro_batches};
}

EpochSize epoch_size(const TrainConfig& train, const StepSize& step, int64_t ranks,
                     int64_t examples) {
  const RowInterval all{0, examples};
  std::vector<int64_t> read;  // examples of each rank
  EpochSize epoch;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t share = count_rows(deal_rows({&all, 1}, rank, ranks));
    const int64_t dropped = train.train_data().drop_remainder() ? share % step.batch_size : 0;
    read.push_back(share - dropped);
    const int64_t batches = (share - dropped + step.batch_size - 1) / step.batch_size;
    const int64_t steps = (batches + step.micro_batches - 1) / step.micro_batches;
    const bool until_first = train.uneven_data() == TrainConfig::UNTIL_FIRST && rank > 0;
    epoch.steps = until_first ? std::min(epoch.steps, steps) : std::max(epoch.steps, steps);
  }
  const int64_t most = train.max_steps_per_epoch();
  if (most > 0) epoch.steps = std::min(epoch.steps, most);
  const int64_t step_examples = step.batch_size * step.micro_batches;
  for (const int64_t of_rank : read) {
    epoch.examples += std::min(of_rank, epoch.steps * step_examples);
  }
  return epoch;
}

ScheduleTotals training_totals(const TrainConfig& train) {
  ScheduleTotals totals;
  if (train.max_steps() > 0) totals.steps = train.max_steps();
  if (comes_in_windows(train.train_data())) {
    if (train.max_windows() > 0) totals.windows = train.max_windows();
  } else if (train.max_epochs() > 0) {
    totals.epochs = train.max_epochs();
    totals.counted_at_start = train.max_steps() == 0 && !train.train_data().has_mix() &&
                              !train.train_data().has_custom_dataset();
  }
  return totals;
}

bool needs_epoch_size(const TrainConfig& train) {
  const std::set<ScheduleConfig::Unit> units = units_of_shares(train);
  return training_totals(train).counted_at_start &&
         (units.count(ScheduleConfig::STEPS) > 0 || units.count(ScheduleConfig::EXAMPLES) > 0);
}

std::string find_cadence_share(const JobConfig& config) {
  JobConfig copy = config;
  std::string found;
  const auto visit = [&found](const std::string& place, google::protobuf::Message* message) {
    const bool is_cadence = message->GetDescriptor() == CadenceConfig::descriptor();
    if (!is_cadence || static_cast<const CadenceConfig&>(*message).every_share() <= 0) {
      return absl::OkStatus();
    }
    found = place;
    return absl::CancelledError();  // ends the search
  };
  visit_messages("", visit, &copy).IgnoreError();
  return found;
}

ScheduleTotals training_totals(const TrainConfig& train, const EpochSize& epoch) {
  ScheduleTotals totals = training_totals(train);
  totals.counted_at_start = false;
  const int64_t most = std::numeric_limits<int64_t>::max() / train.max_epochs();
  if (epoch.steps > most || epoch.examples > most) return totals;
  totals.steps = epoch.steps * train.max_epochs();
  totals.examples = epoch.examples * train.max_epochs();
  return totals;
}

}  // namespace millrace
