#include "embedding/policies/count_sketch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace millrace {
namespace {

constexpr int64_t kParts = 1024;
constexpr int kPartShift = 54;  // leaves the upper ten bits
constexpr uint32_t kMaxCount = 255;
constexpr double kLn2 = 0.69314718055994531;
constexpr int64_t kMinWidth = 16;
constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ULL;  // of the golden ratio: differs the hashes of rows

int64_t part_of(int64_t id) { return static_cast<int64_t>(placement_hash(id) >> kPartShift); }

int64_t used_in(absl::Span<const uint8_t> counters) {
  return static_cast<int64_t>(counters.size()) -
         std::count(counters.begin(), counters.end(), uint8_t{0});
}

}  // namespace

CountSketch::CountSketch(int64_t capacity, double error_probability) : used_(kParts) {
  state_.depth = 1;
  for (double error = 0.5; error > error_probability; error /= 2) ++state_.depth;
  // n ids use a share 1 - exp(-n / width) of a row, which is half for width = n / ln 2. Parts get
  // different numbers of ids; five standard deviations above the mean suffice for the fullest part.
  const double mean = static_cast<double>(capacity) / kParts;
  const double ids = mean + 5 * std::sqrt(mean);
  state_.width = std::max(kMinWidth, static_cast<int64_t>(ids / kLn2) + 1);
  state_.counters.resize(kParts * part_size());
}

int64_t CountSketch::place(int64_t id, int64_t row) const {
  const uint64_t mixed = static_cast<uint64_t>(id) ^ (kOdd * static_cast<uint64_t>(row + 1));
  const uint64_t hash = placement_hash(static_cast<int64_t>(mixed));
  const auto column =
      static_cast<int64_t>((hash >> 32) * static_cast<uint64_t>(state_.width) >> 32);
  return part_of(id) * part_size() + row * state_.width + column;
}

uint32_t CountSketch::count(int64_t id) const {
  uint32_t least = kMaxCount;
  for (int64_t row = 0; row < state_.depth; ++row) {
    least = std::min<uint32_t>(least, state_.counters[place(id, row)]);
  }
  return least;
}

void CountSketch::add(absl::Span<const int64_t> ids, absl::Span<const uint32_t> counts) {
  // Reads all counts before changing a counter, so that the order of ids has no effect.
  std::vector<uint8_t> raised(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint32_t before = count(ids[i]);
    raised[i] = static_cast<uint8_t>(before + std::min(counts[i], kMaxCount - before));
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    for (int64_t row = 0; row < state_.depth; ++row) {
      uint8_t& counter = state_.counters[place(ids[i], row)];
      if (counter == 0 && raised[i] > 0) ++used_[part_of(ids[i])];
      counter = std::max(counter, raised[i]);
    }
  }
  for (const int64_t id : ids) halve_until_half_full(part_of(id));
}

void CountSketch::halve_until_half_full(int64_t part) {
  const absl::Span<uint8_t> counters(state_.counters.data() + part * part_size(), part_size());
  while (2 * used_[part] > part_size()) {
    for (uint8_t& counter : counters) counter /= 2;
    used_[part] = used_in(counters);
  }
}

void CountSketch::clear() {
  std::fill(state_.counters.begin(), state_.counters.end(), 0);
  std::fill(used_.begin(), used_.end(), 0);
}

double CountSketch::load() const {
  return static_cast<double>(std::accumulate(used_.begin(), used_.end(), int64_t{0})) /
         static_cast<double>(state_.counters.size());
}

int64_t CountSketch::bytes() const {
  return static_cast<int64_t>(state_.counters.size() + used_.size() * sizeof(used_[0]));
}

absl::Status CountSketch::set_state(CountSketchState state) {
  if (state.depth != state_.depth || state.width != state_.width ||
      state.counters.size() != state_.counters.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a count sketch of ", state.depth, " × ",
                                                   state.width, " with ", state.counters.size(),
                                                   " counters is not one of ", state_.depth, " × ",
                                                   state_.width, " with ", state_.counters.size()));
  }
  std::vector<int64_t> used(kParts);
  for (int64_t part = 0; part < kParts; ++part) {
    used[part] =
        used_in({state.counters.data() + part * part_size(), static_cast<size_t>(part_size())});
    if (2 * used[part] > part_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("part ", part, " of a count sketch is more than half full"));
    }
  }
  state_ = std::move(state);
  used_ = std::move(used);
  return absl::OkStatus();
}

}  // namespace millrace
