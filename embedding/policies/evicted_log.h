// A log of evicted ids, for owners of copies of a table.
#ifndef MILLRACE_EMBEDDING_POLICIES_EVICTED_LOG_H_
#define MILLRACE_EMBEDDING_POLICIES_EVICTED_LOG_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace {

// The content of a log, for checkpoints.
struct EvictedLogState {
  int64_t begins = 0;  // see EvictedLog::begins
  // In the order of eviction; ids of one step by ascending placement_hash.
  std::vector<int64_t> ids;
  std::vector<int64_t> steps;  // [ids]: applied steps at eviction; not decreasing

  friend bool operator==(const EvictedLogState&, const EvictedLogState&) = default;
};

// Evicted ids with the number of applied steps at their eviction, within a capacity. If there are
// too many ids, the oldest steps are removed as a whole, and the log begins later.
class EvictedLog {
 public:
  // `capacity`: the maximum number of ids. REQUIRES: capacity >= 0.
  explicit EvictedLog(int64_t capacity) : capacity_(capacity) {}

  // Adds ids evicted after `step` applied steps. REQUIRES: steps do not decrease.
  void add(int64_t step, absl::Span<const int64_t> ids);

  // Returns the number of applied steps from which on the log is complete.
  int64_t begins() const { return begins_; }

  // Returns the ids evicted after `step` or more applied steps: distinct, by ascending
  // placement_hash. Errors: OutOfRange if the log begins later.
  absl::StatusOr<std::vector<int64_t>> since(int64_t step) const;

  // Removes all ids. The log is complete from `step` on.
  void restart(int64_t step);

  EvictedLogState state() const;
  // Replaces the content. Removes ids beyond the capacity as add(). Errors: InvalidArgument for
  // different numbers of steps and ids, and for steps that decrease or are negative; then nothing
  // has changed.
  absl::Status set_state(const EvictedLogState& state);

  int64_t bytes() const;

 private:
  struct Eviction {
    int64_t step = 0;
    std::vector<int64_t> ids;
  };

  int64_t capacity_;
  int64_t begins_ = 0;
  int64_t size_ = 0;  // number of ids
  std::deque<Eviction> evictions_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_EVICTED_LOG_H_
