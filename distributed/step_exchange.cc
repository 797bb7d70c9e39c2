#include "distributed/step_exchange.h"

#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// Places in the vector. One place per evaluation set, then one per task and one per table follow.
enum Slot {
  kHasData,
  kExamples,
  kStop,
  kCheckpoint,
  kReload,
  kFailed,
  kDurable,
  kTimeIsUp,
  kElapsed,  // nanoseconds
  // Two halves of the fingerprint, 24 bits each, and their squares: with up to 2^14 ranks no sum
  // wraps.
  kLow,
  kLowSquared,
  kHigh,
  kHighSquared,
  kSlots,
};

constexpr uint64_t kHalfMask = (1 << 24) - 1;

bool all_equal(int64_t sum, int64_t sum_of_squares, int64_t world_size) {
  return static_cast<__int128>(world_size) * sum_of_squares == static_cast<__int128>(sum) * sum;
}

}  // namespace

bool RequestCounts::any() const {
  for (int64_t count : evaluate) {
    if (count > 0) return true;
  }
  return stop > 0 || checkpoint > 0 || reload > 0;
}

StepExchange::StepExchange(Collectives& collectives, int64_t evaluation_sets, int64_t tasks,
                           int64_t tables)
    : collectives_(collectives),
      evaluation_sets_(evaluation_sets),
      tasks_(tasks),
      tables_(tables),
      values_(static_cast<size_t>(kSlots + evaluation_sets + tasks + tables)) {}

void StepExchange::start(const ExchangeInput& input) {
  MILLRACE_CHECK(pending_ == nullptr) << "an exchange is under way";
  const RequestCounts& requests = input.requests;
  // A vector of another size would add values of one kind to values of another kind.
  MILLRACE_CHECK(requests.evaluate.empty() ||
                 static_cast<int64_t>(requests.evaluate.size()) == evaluation_sets_)
      << requests.evaluate.size() << " evaluation sets instead of " << evaluation_sets_;
  MILLRACE_CHECK(input.targets.empty() || static_cast<int64_t>(input.targets.size()) == tasks_)
      << "targets of " << input.targets.size() << " tasks instead of " << tasks_;
  MILLRACE_CHECK(input.rows.empty() || static_cast<int64_t>(input.rows.size()) == tables_)
      << "rows of " << input.rows.size() << " tables instead of " << tables_;
  values_[kHasData] = input.has_data;
  values_[kExamples] = input.examples;
  values_[kStop] = requests.stop;
  values_[kCheckpoint] = requests.checkpoint;
  values_[kReload] = requests.reload;
  values_[kFailed] = input.failed;
  values_[kDurable] = input.durable;
  values_[kTimeIsUp] = input.time_is_up;
  // Only rank 0 has a summand: the sum is its time, and all ranks compare the same time with
  // limits.
  values_[kElapsed] = collectives_.rank() == 0 ? absl::ToInt64Nanoseconds(input.elapsed) : 0;
  const int64_t low = static_cast<int64_t>(input.fingerprint & kHalfMask);
  const int64_t high = static_cast<int64_t>((input.fingerprint >> 24) & kHalfMask);
  values_[kLow] = low;
  values_[kLowSquared] = low * low;
  values_[kHigh] = high;
  values_[kHighSquared] = high * high;
  for (int64_t i = 0; i < evaluation_sets_; ++i) {
    values_[kSlots + i] = requests.evaluate.empty() ? 0 : requests.evaluate[i];
  }
  for (int64_t i = 0; i < tasks_; ++i) {
    values_[kSlots + evaluation_sets_ + i] = input.targets.empty() ? 0 : input.targets[i];
  }
  for (int64_t i = 0; i < tables_; ++i) {
    values_[kSlots + evaluation_sets_ + tasks_ + i] = input.rows.empty() ? 0 : input.rows[i];
  }
  pending_ = collectives_.start_sum(absl::MakeSpan(values_));
}

absl::StatusOr<ExchangeResult> StepExchange::finish() {
  MILLRACE_CHECK(pending_ != nullptr) << "no exchange is under way";
  const absl::Status status = pending_->wait();
  pending_.reset();
  RETURN_IF_ERROR(status);
  ExchangeResult result;
  result.ranks_with_data = values_[kHasData];
  result.examples = values_[kExamples];
  result.requests.stop = values_[kStop];
  result.requests.checkpoint = values_[kCheckpoint];
  result.requests.reload = values_[kReload];
  result.failed = values_[kFailed];
  result.durable = values_[kDurable];
  result.time_is_up = values_[kTimeIsUp];
  result.elapsed = absl::Nanoseconds(values_[kElapsed]);
  const auto tables = values_.end() - tables_;
  const auto tasks = tables - tasks_;
  result.requests.evaluate.assign(values_.begin() + kSlots, tasks);
  result.targets.assign(tasks, tables);
  result.rows.assign(tables, values_.end());
  // Sums of different fingerprints may agree, so squares are compared as well, see StepExchange.
  const int64_t world_size = collectives_.world_size();
  result.diverged = !all_equal(values_[kLow], values_[kLowSquared], world_size) ||
                    !all_equal(values_[kHigh], values_[kHighSquared], world_size);
  return result;
}

absl::StatusOr<ExchangeResult> StepExchange::run(const ExchangeInput& input) {
  start(input);
  return finish();
}

}  // namespace millrace
