// The eviction of rows.
#ifndef MILLRACE_EMBEDDING_POLICIES_EVICTION_H_
#define MILLRACE_EMBEDDING_POLICIES_EVICTION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "embedding/policies/eviction_rule.h"
#include "embedding/rows/row_index.h"
#include "proto/config.pb.h"

namespace millrace {

// The rule that evicts a row; the first of these if several apply.
enum class EvictionReason {
  kIdleSteps,
  kIdleSeconds,
  kIdleWindows,
  kInfrequent,
  kSmallNorm,
  kLimit,   // the table was full
  kCustom,  // a registered rule
};
inline constexpr int kEvictionReasons = 7;
// Returns the name in configurations: "idle_steps", "idle_seconds", "idle_windows",
// "frequency_below", "norm_below", "limit", "custom".
absl::string_view eviction_reason_name(EvictionReason reason);
// Number of rows by reason.
using EvictionCounts = std::array<int64_t, kEvictionReasons>;

// The time of an eviction. Rows store only steps; cuts are derived from marks
// (embedding/policies/step_marks.h). -1: no row has been idle for that time.
struct EvictionTime {
  int64_t step = 0;          // number of applied steps
  int64_t seconds_cut = -1;  // rows last seen at or before this step are idle by idle_seconds
  int64_t windows_cut = -1;  // likewise by idle_windows
};

// Returns the frequency after `idle_steps` steps without the id. It is halved for each full
// half_life, and decays linearly within the last, partial one:
//   frequency × 2^-n × (1 - rest / 2), n = floor(idle_steps / half_life), rest in [0, 1)
// The result is the same on every machine. half_life 0: no decay.
double decayed_frequency(int64_t frequency, int64_t idle_steps, double half_life);

// The rules of one table (EvictionConfig). The verdict on a row depends only on that row and the
// time.
class EvictionRules {
 public:
  // Creates the rules of a table. Errors: InvalidArgument naming table and field.
  static absl::StatusOr<EvictionRules> create(const EvictionConfig& config,
                                              absl::string_view table);

  // Returns the rule that evicts the row; nullopt if none does. The norm is computed in float64, by
  // sum_of_squares. REQUIRES: `row` has weights if needs_weights().
  std::optional<EvictionReason> verdict(const EvictionTime& now,
                                        const EvictionCandidate& row) const;

  // Returns true if verdict() reads weights.
  bool needs_weights() const {
    return config_.has_norm_below() || (custom_ != nullptr && custom_->needs_weights());
  }
  const EvictionConfig& config() const { return config_; }

 private:
  EvictionRules(EvictionConfig config, std::shared_ptr<const EvictionRule> custom)
      : config_(std::move(config)), custom_(std::move(custom)) {}

  EvictionConfig config_;
  std::shared_ptr<const EvictionRule> custom_;  // shared with copies; null: none
};

// The order of rows by worth.
enum class EvictionOrder {
  kLeastRecent,    // last step, then frequency, then placement_hash of the id
  kLeastFrequent,  // frequency, then last step, then placement_hash of the id
};

// The key of a row in an EvictionOrder: rows with smaller keys are evicted first. Keys of a table
// are distinct.
struct RowKey {
  uint64_t worth = 0;  // last step and frequency, 32 bits each, in this order or reversed
  uint64_t hash = 0;   // placement_hash of the id

  friend bool operator<(const RowKey& a, const RowKey& b) {
    return a.worth != b.worth ? a.worth < b.worth : a.hash < b.hash;
  }
};
// Returns the key of a row. Clamps frequencies and steps to 2^32 - 1.
RowKey row_key(EvictionOrder order, int64_t id, int64_t frequency, int64_t last_step);

// Selects the `count` rows with the smallest keys from any number of rows, in one pass and with
// memory for twice `count` rows. Ids are distinct, so the result does not depend on the order of
// rows.
class LeastRows {
 public:
  // Selects `count` rows. REQUIRES: count >= 1.
  LeastRows(EvictionOrder order, int64_t count);

  void add(RowIndex row, int64_t id, int64_t frequency, int64_t last_step);

  // Returns the selected rows, in no particular order. Must be called once.
  std::vector<RowIndex> take();

 private:
  struct Key : RowKey {
    RowIndex row = kNoRow;
  };
  void shrink();

  EvictionOrder order_;
  size_t count_;
  std::vector<Key> keys_;
  // Set by shrink(): rows with keys at or above the bound are not selected.
  std::optional<Key> bound_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_EVICTION_H_
