// Which rows go.
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

// The rule that a row fell to; where several apply, the first of these.
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
// As in configurations: "idle_steps", "idle_seconds", "idle_windows", "frequency_below",
// "norm_below", "limit", "custom".
absl::string_view eviction_reason_name(EvictionReason reason);
// Rows by reason.
using EvictionCounts = std::array<int64_t, kEvictionReasons>;

// The moment of an eviction. Rows know steps alone; the others follow from marks
// (embedding/policies/step_marks.h). -1: no row has been idle for so long.
struct EvictionTime {
  int64_t step = 0;          // steps applied
  int64_t seconds_cut = -1;  // rows last seen in this step or before are idle by idle_seconds
  int64_t windows_cut = -1;  // and by idle_windows
};

// A frequency after `idle_steps` steps without the id: halved for each half_life of them that is
// full, and by as much as its share of the way to the next half for the one that is not:
//   frequency × 2^-n × (1 - rest / 2), n = floor(idle_steps / half_life), rest in [0, 1)
// which is the same on every machine. half_life 0: no decay.
double decayed_frequency(int64_t frequency, int64_t idle_steps, double half_life);

// The rules of one table (EvictionConfig). A row's verdict depends on that row alone.
class EvictionRules {
 public:
  // Errors: InvalidArgument naming table and field.
  static absl::StatusOr<EvictionRules> create(const EvictionConfig& config,
                                              absl::string_view table);

  // Returns the rule that the row falls to; none if it stays. The norm is taken in double, by
  // sum_of_squares.
  // REQUIRES: `row` has weights if needs_weights().
  std::optional<EvictionReason> verdict(const EvictionTime& now,
                                        const EvictionCandidate& row) const;

  // Returns true if verdict() looks at weights.
  bool needs_weights() const {
    return config_.has_norm_below() || (custom_ != nullptr && custom_->needs_weights());
  }
  const EvictionConfig& config() const { return config_; }

 private:
  EvictionRules(EvictionConfig config, std::shared_ptr<const EvictionRule> custom)
      : config_(std::move(config)), custom_(std::move(custom)) {}

  EvictionConfig config_;
  std::shared_ptr<const EvictionRule> custom_;  // shared with copies of this; null: none
};

// What makes a row worth less than another.
enum class EvictionOrder {
  kLeastRecent,    // last step, then frequency, then placement_hash of the id
  kLeastFrequent,  // frequency, then last step, then placement_hash of the id
};

// What rows are compared by: smaller keys are worth less. No two rows of a table have one key.
struct RowKey {
  uint64_t worth = 0;  // by the order: last step and frequency, 32 bits each
  uint64_t hash = 0;   // placement_hash of the id

  friend bool operator<(const RowKey& a, const RowKey& b) {
    return a.worth != b.worth ? a.worth < b.worth : a.hash < b.hash;
  }
};
// Frequencies and steps from 2^32 on are taken for 2^32 - 1.
RowKey row_key(EvictionOrder order, int64_t id, int64_t frequency, int64_t last_step);

// The `count` rows that are worth least, of any number, in one pass and with memory for twice
// `count`. No two rows have one id, so the choice does not depend on the order they come in.
class LeastRows {
 public:
  // REQUIRES: count >= 1.
  LeastRows(EvictionOrder order, int64_t count);

  void add(RowIndex row, int64_t id, int64_t frequency, int64_t last_step);

  // Them, in no particular order. Call it once.
  std::vector<RowIndex> take();

 private:
  struct Key : RowKey {
    RowIndex row = kNoRow;
  };
  void shrink();

  EvictionOrder order_;
  size_t count_;
  std::vector<Key> keys_;
  // Once keys_ was shrunk: what is not below this is not among the least.
  std::optional<Key> bound_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_EVICTION_H_
