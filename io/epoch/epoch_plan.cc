#include "io/epoch/epoch_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/numeric/int128.h"
#include "base/random/philox.h"

namespace millrace {
namespace {

// The kind of a permutation; part of its key, so that no two permutations share their numbers.
enum class Level : uint64_t { kFiles = 1, kGroups = 2, kUnits = 3, kRows = 4 };

// `ordinal` tells the permutations of one level apart.
uint64_t shuffle_key(uint64_t seed, int64_t epoch, Level level, int64_t ordinal) {
  return philox64(seed, static_cast<uint64_t>(epoch),
                  static_cast<uint64_t>(level) << 56 | static_cast<uint64_t>(ordinal));
}

using Run = std::pair<int64_t, int64_t>;  // [begin, end) of a list of units

// Cuts [begin, end) where `field` of the units changes.
template <typename Field>
std::vector<Run> runs_of(const std::vector<Unit>& units, Run whole, Field field) {
  std::vector<Run> runs;
  for (int64_t i = whole.first; i < whole.second; ++i) {
    if (runs.empty() || units[i].*field != units[runs.back().first].*field) {
      runs.push_back({i, i});
    }
    runs.back().second = i + 1;
  }
  return runs;
}

}  // namespace

std::vector<Unit> make_units(absl::Span<const std::vector<int64_t>> group_rows, int64_t max_rows) {
  std::vector<Unit> units;
  for (size_t file = 0; file < group_rows.size(); ++file) {
    for (size_t group = 0; group < group_rows[file].size(); ++group) {
      const int64_t rows = group_rows[file][group];
      const int64_t pieces = (rows + max_rows - 1) / max_rows;
      for (int64_t i = 0; i < pieces; ++i) {
        const int64_t begin = rows * i / pieces;
        units.push_back({.file = static_cast<int64_t>(file),
                         .group = static_cast<int64_t>(group),
                         .begin = begin,
                         .count = rows * (i + 1) / pieces - begin});
      }
    }
  }
  return units;
}

std::vector<int32_t> permutation(int64_t count, uint64_t key) {
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = count - 1; i > 0; --i) {
    // The high half of number * (i + 1): uniform except for a bias below 2^-32.
    const uint64_t number = philox64(key, 0, static_cast<uint64_t>(i));
    const uint64_t j = absl::Uint128High64(absl::uint128(number) * static_cast<uint64_t>(i + 1));
    std::swap(order[i], order[j]);
  }
  return order;
}

EpochPlan::EpochPlan(std::vector<Unit> units, int64_t shuffle_rows, uint64_t seed, int64_t epoch)
    : shuffle_rows_(shuffle_rows), seed_(seed), epoch_(epoch) {
  if (shuffled()) {
    permute_units(std::move(units));
  } else {
    units_ = std::move(units);
  }
  for (size_t i = 0; i < units_.size(); ++i) {
    const int64_t count = units_[i].count;
    if (blocks_.empty() || blocks_.back().rows + count > shuffle_rows_) {
      blocks_.push_back({.first_unit = static_cast<int64_t>(i), .first_position = rows_});
    }
    ++blocks_.back().unit_count;
    blocks_.back().rows += count;
    rows_ += count;
  }
}

void EpochPlan::permute_units(std::vector<Unit> units) {
  units_.reserve(units.size());
  const std::vector<Run> files =
      runs_of(units, {0, static_cast<int64_t>(units.size())}, &Unit::file);
  for (const int32_t f : permutation(files.size(), shuffle_key(seed_, epoch_, Level::kFiles, 0))) {
    const std::vector<Run> groups = runs_of(units, files[f], &Unit::group);
    const int64_t file_ordinal = files[f].first;
    for (const int32_t g :
         permutation(groups.size(), shuffle_key(seed_, epoch_, Level::kGroups, file_ordinal))) {
      const int64_t first = groups[g].first;
      for (const int32_t u : permutation(groups[g].second - first,
                                         shuffle_key(seed_, epoch_, Level::kUnits, first))) {
        units_.push_back(units[first + u]);
      }
    }
  }
}

absl::Span<const Unit> EpochPlan::units(int64_t block) const {
  return absl::MakeConstSpan(units_).subspan(blocks_[block].first_unit, blocks_[block].unit_count);
}

int64_t EpochPlan::block_at(int64_t position) const {
  const auto after = std::upper_bound(
      blocks_.begin(), blocks_.end(), position,
      [](int64_t wanted, const Block& block) { return wanted < block.first_position; });
  return after - blocks_.begin() - 1;
}

std::vector<int32_t> EpochPlan::row_order(int64_t block) const {
  if (shuffled()) {
    return permutation(blocks_[block].rows, shuffle_key(seed_, epoch_, Level::kRows, block));
  }
  std::vector<int32_t> order(blocks_[block].rows);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace millrace
