#include "embedding/policies/evicted_log.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace millrace {

void EvictedLog::add(int64_t step, absl::Span<const int64_t> ids) {
  if (ids.empty()) return;
  if (evictions_.empty() || evictions_.back().step != step) evictions_.push_back({step, {}});
  std::vector<int64_t>& gone = evictions_.back().ids;
  gone.insert(gone.end(), ids.begin(), ids.end());
  size_ += static_cast<int64_t>(ids.size());
  while (size_ > capacity_) {
    begins_ = evictions_.front().step + 1;
    size_ -= static_cast<int64_t>(evictions_.front().ids.size());
    evictions_.pop_front();
  }
}

absl::StatusOr<std::vector<int64_t>> EvictedLog::since(int64_t step) const {
  if (step < begins_) {
    return absl::OutOfRangeError(absl::StrCat("ids evicted since step ", step,
                                              " are not known: the log begins at step ", begins_));
  }
  std::vector<uint64_t> hashes;
  for (const Eviction& eviction : evictions_) {
    if (eviction.step < step) continue;
    for (const int64_t id : eviction.ids) hashes.push_back(placement_hash(id));
  }
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  std::vector<int64_t> ids;
  ids.reserve(hashes.size());
  for (const uint64_t hash : hashes) ids.push_back(inverse_placement_hash(hash));
  return ids;
}

void EvictedLog::restart(int64_t step) {
  evictions_.clear();
  size_ = 0;
  begins_ = step;
}

EvictedLogState EvictedLog::state() const {
  EvictedLogState state;
  state.begins = begins_;
  for (const Eviction& eviction : evictions_) {
    std::vector<int64_t> ids = eviction.ids;
    std::sort(ids.begin(), ids.end(),
              [](int64_t a, int64_t b) { return placement_hash(a) < placement_hash(b); });
    state.ids.insert(state.ids.end(), ids.begin(), ids.end());
    state.steps.insert(state.steps.end(), eviction.ids.size(), eviction.step);
  }
  return state;
}

absl::Status EvictedLog::set_state(const EvictedLogState& state) {
  int64_t last = 0;
  bool in_order = state.begins >= 0;
  for (const int64_t step : state.steps) {
    in_order &= step >= last;
    last = step;
  }
  if (state.ids.size() != state.steps.size() || !in_order) {
    return absl::InvalidArgumentError(
        absl::StrCat("the log of evicted ids is damaged: it has ", state.ids.size(), " ids and ",
                     state.steps.size(), " steps", in_order ? "" : ", which go back"));
  }
  restart(state.begins);
  for (size_t begin = 0; begin < state.ids.size();) {
    size_t end = begin;
    while (end < state.ids.size() && state.steps[end] == state.steps[begin]) ++end;
    add(state.steps[begin], absl::MakeSpan(state.ids).subspan(begin, end - begin));
    begin = end;
  }
  return absl::OkStatus();
}

int64_t EvictedLog::bytes() const {
  int64_t bytes = 0;
  for (const Eviction& eviction : evictions_) {
    bytes += static_cast<int64_t>(sizeof(Eviction) + eviction.ids.capacity() * sizeof(int64_t));
  }
  return bytes;
}

}  // namespace millrace
