#include "embedding/policies/eviction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "embedding/policies/eviction_registry.h"
#include "embedding/policies/table_policy_check.h"
#include "embedding/rows/row_math.h"

namespace millrace {
namespace {

uint64_t to_32_bits(int64_t value) {
  return static_cast<uint64_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

absl::string_view eviction_reason_name(EvictionReason reason) {
  switch (reason) {
    case EvictionReason::kIdleSteps: return "idle_steps";
    case EvictionReason::kIdleSeconds: return "idle_seconds";
    case EvictionReason::kIdleWindows: return "idle_windows";
    case EvictionReason::kInfrequent: return "frequency_below";
    case EvictionReason::kSmallNorm: return "norm_below";
    case EvictionReason::kLimit: return "limit";
    case EvictionReason::kCustom: return "custom";
  }
  return "";
}

double decayed_frequency(int64_t frequency, int64_t idle_steps, double half_life) {
  const auto value = static_cast<double>(frequency);
  if (half_life == 0 || idle_steps <= 0) return value;
  const double halvings = static_cast<double>(idle_steps) / half_life;
  const double full = std::floor(halvings);
  if (full > 2000) return 0;  // beyond the smallest double
  return std::ldexp(value * (1 - (halvings - full) / 2), -static_cast<int>(full));
}

absl::StatusOr<EvictionRules> EvictionRules::create(const EvictionConfig& config,
                                                    absl::string_view table) {
  RETURN_IF_ERROR(check_eviction(absl::StrCat("table ", table), config));
  std::shared_ptr<const EvictionRule> custom;
  if (config.has_custom()) {
    ASSIGN_OR_RETURN(
        custom, eviction_registry().create(config.custom(), EvictionInput{std::string(table)}));
  }
  return EvictionRules(config, std::move(custom));
}

std::optional<EvictionReason> EvictionRules::verdict(const EvictionTime& now,
                                                     const EvictionCandidate& row) const {
  const int64_t idle = now.step - row.last_step;
  if (config_.has_idle_steps() && idle > config_.idle_steps()) return EvictionReason::kIdleSteps;
  if (config_.has_idle_seconds() && row.last_step <= now.seconds_cut) {
    return EvictionReason::kIdleSeconds;
  }
  if (config_.has_idle_windows() && row.last_step <= now.windows_cut) {
    return EvictionReason::kIdleWindows;
  }
  if (config_.has_frequency_below() &&
      decayed_frequency(row.frequency, idle, config_.half_life_steps()) <
          config_.frequency_below()) {
    return EvictionReason::kInfrequent;
  }
  if (config_.has_norm_below() &&
      std::sqrt(sum_of_squares<double>(
          row.weights.data(), static_cast<int64_t>(row.weights.size()))) < config_.norm_below()) {
    return EvictionReason::kSmallNorm;
  }
  if (custom_ != nullptr && custom_->evicts(row, now.step)) return EvictionReason::kCustom;
  return std::nullopt;
}

RowKey row_key(EvictionOrder order, int64_t id, int64_t frequency, int64_t last_step) {
  uint64_t first = to_32_bits(last_step), second = to_32_bits(frequency);
  if (order == EvictionOrder::kLeastFrequent) std::swap(first, second);
  return {first << 32 | second, placement_hash(id)};
}

LeastRows::LeastRows(EvictionOrder order, int64_t count)
    : order_(order), count_(static_cast<size_t>(count)) {}

void LeastRows::add(RowIndex row, int64_t id, int64_t frequency, int64_t last_step) {
  const Key key = {row_key(order_, id, frequency, last_step), row};
  if (bound_.has_value() && !(key < *bound_)) return;
  keys_.push_back(key);
  if (keys_.size() >= 2 * count_) shrink();
}

void LeastRows::shrink() {
  if (keys_.size() <= count_) return;
  const auto last = keys_.begin() + static_cast<int64_t>(count_) - 1;
  std::nth_element(keys_.begin(), last, keys_.end());
  bound_ = *last;
  keys_.resize(count_);
}

std::vector<RowIndex> LeastRows::take() {
  shrink();
  std::vector<RowIndex> rows;
  rows.reserve(keys_.size());
  for (const Key& key : keys_) rows.push_back(key.row);
  keys_.clear();
  return rows;
}

}  // namespace millrace
