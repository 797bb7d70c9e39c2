// Which ids went, for those who keep a copy of a table.
#ifndef MILLRACE_EMBEDDING_POLICIES_EVICTED_LOG_H_
#define MILLRACE_EMBEDDING_POLICIES_EVICTED_LOG_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace {

// What a log holds, for checkpoints.
struct EvictedLogState {
  int64_t begins = 0;  // see EvictedLog::begins
  // In the order they went, those of one step by ascending placement_hash.
  std::vector<int64_t> ids;
  std::vector<int64_t> steps;  // [ids], the steps that had been applied; they do not decrease

  friend bool operator==(const EvictedLogState&, const EvictedLogState&) = default;
};

// Evicted ids with the number of steps after which they were, as many as fit: when there are too
// many, the oldest evictions are forgotten whole, and the log begins later.
class EvictedLog {
 public:
  // REQUIRES: capacity >= 0, in ids.
  explicit EvictedLog(int64_t capacity) : capacity_(capacity) {}

  // These were evicted when `step` steps had been applied. REQUIRES: steps do not decrease.
  void add(int64_t step, absl::Span<const int64_t> ids);

  // The log holds everything evicted when this many steps, or more, had been applied.
  int64_t begins() const { return begins_; }

  // Ids evicted when `step` steps, or more, had been applied: distinct, by ascending
  // placement_hash. Errors: OutOfRange if the log begins later.
  absl::StatusOr<std::vector<int64_t>> since(int64_t step) const;

  // Forgets all; what was evicted before `step` is not known.
  void restart(int64_t step);

  EvictedLogState state() const;
  // Ids that do not fit are forgotten as by add. Errors: InvalidArgument for another number of
  // steps than of ids and for steps that decrease or are negative; nothing changes then.
  absl::Status set_state(const EvictedLogState& state);

  int64_t bytes() const;

 private:
  struct Eviction {
    int64_t step = 0;
    std::vector<int64_t> ids;
  };

  int64_t capacity_;
  int64_t begins_ = 0;
  int64_t size_ = 0;  // ids
  std::deque<Eviction> evictions_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_EVICTED_LOG_H_
