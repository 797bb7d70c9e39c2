#include "embedding/table/step_lookups.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/base/casts.h"
#include "embedding/table/prefetch.h"

namespace millrace {

StepLookups::StepLookups(int64_t dim, const Kernels& kernels)
    : dim_(dim), kernels_(kernels), sums_(dim, kernels) {}

SortedSummands& StepLookups::summands_of_thread() {
  static thread_local SortedSummands summands;
  return summands;
}

absl::Span<uint32_t> StepLookups::add(const IdLists& lists) {
  Lookup& lookup = lookups_.emplace_back();
  lookup.lists = lists;
  lookup.first = occurrences();
  lookup.copies = lists.copies();
  lookup.keep_lists();
  places_.resize(lookup.first + lists.ids.size());
  return absl::MakeSpan(places_).subspan(lookup.first);
}

void StepLookups::finish(bool all_have_rows) {
  lookups_.back().covered_by_sums = lookups_.back().copies && all_have_rows;
  forget_sums();
}

void StepLookups::set_gradient(int64_t lookup, const float* gradient, int64_t stride) {
  lookups_[lookup].gradient = gradient;
  lookups_[lookup].stride = stride;
  forget_sums();
}

void StepLookups::sort_summands(SortedSummands& sorted) const {
  sorted.begin(counts_.size());
  bool weighted = false;
  for (const Lookup& lookup : lookups_) {
    if (lookup.gradient == nullptr) continue;
    weighted = weighted || !lookup.unweighted();
    sorted.count(absl::MakeConstSpan(places_).subspan(lookup.first, lookup.lists.ids.size()));
  }
  sorted.begin_adding(weighted);
  for (const Lookup& lookup : lookups_) {
    if (lookup.gradient != nullptr) place_summands(lookup, sorted);
  }
  sorted.finish();
}

void StepLookups::place_summands(const Lookup& lookup, SortedSummands& sorted) const {
  const uint32_t* places = places_.data() + lookup.first;
  const IdLists& lists = lookup.lists;
  const float* gradient = lookup.gradient;
  const bool weighted = sorted.weighted();
  if (lookup.copies) {
    for (size_t i = 0; i < lists.ids.size(); ++i, gradient += lookup.stride) {
      if (places[i] == kNoPlace) continue;
      if (weighted) {
        sorted.add(places[i], gradient, 1);
      } else {
        sorted.add(places[i], gradient);
      }
    }
    return;
  }
  // The distance between the gradients of consecutive ids of a list.
  const int64_t next = lists.pooling == FIRST_N ? dim_ : 0;
  for (int64_t list = 0; list < lists.batch(); ++list, gradient += lookup.stride) {
    const float* own = gradient;
    for (int64_t i = lists.begin(list); i < lists.end(list); ++i, own += next) {
      if (places[i] == kNoPlace) continue;
      if (weighted) {
        sorted.add(places[i], own, static_cast<float>(lists.coefficient(list, i)));
      } else {
        sorted.add(places[i], own);
      }
    }
  }
}

bool StepLookups::add_up() {
  if (added_up_) return sums_are_finite_;
  SortedSummands& summands = summands_of_thread();
  sort_summands(summands);
  sums_are_finite_ = sums_.add_up(
      summands, divides() ? absl::MakeConstSpan(counts_) : absl::Span<const uint32_t>());
  added_up_ = true;
  return sums_are_finite_;
}

bool StepLookups::gradients_are_finite() {
  if (!finite_.has_value()) finite_ = find_finite();
  return *finite_;
}

bool StepLookups::find_finite() {
  bool covered_by_sums = false;
  uint32_t largest = 0;  // of lookups whose gradients sums do not cover
  for (const Lookup& lookup : lookups_) {
    if (lookup.gradient == nullptr) continue;
    covered_by_sums = covered_by_sums || lookup.covered_by_sums;
    if (!lookup.covered_by_sums) largest = std::max(largest, largest_magnitude(lookup));
  }
  const auto magnitude = absl::bit_cast<float>(largest);
  if (!std::isfinite(magnitude)) return false;
  if (!covered_by_sums && !may_overflow(magnitude)) return true;
  return add_up();
}

uint32_t StepLookups::largest_magnitude(const Lookup& lookup) const {
  const IdLists& lists = lookup.lists;
  const int64_t rows =
      lists.pooling == NONE ? static_cast<int64_t>(lists.ids.size()) : lists.batch();
  return kernels_.largest_magnitude(lookup.gradient, rows, lookup.stride, lists.width() * dim_);
}

bool StepLookups::may_overflow(float largest) const {
  double most = 0;
  for (const Lookup& lookup : lookups_) {
    if (lookup.gradient == nullptr) continue;
    // A NaN weight makes the sum NaN, which counts as an overflow.
    double weights = 0;
    for (const float weight : lookup.lists.weights) weights += std::abs(double{weight});
    if (!lookup.lists.weighted()) weights = static_cast<double>(lookup.lists.ids.size());
    most += largest * weights;
  }
  return !(most < std::numeric_limits<float>::max());
}

double StepLookups::squared_norm() {
  add_up();
  return sums_.squared_norm();
}

void StepLookups::prefetch_sums(size_t begin, size_t end) const {
  const absl::Span<const float* const> sums = sums_.sums();
  const int64_t bytes = dim_ * static_cast<int64_t>(sizeof(float));
  for (size_t place = begin; place < std::min(end, sums.size()); ++place) {
    if (sums[place] != nullptr) prefetch(sums[place], bytes);
  }
}

void StepLookups::begin_reading() {
  if (!added_up_ && divides()) add_up();
  if (added_up_) {
    prefetch_sums(0, 2 * kReadRows);
  } else {
    sort_summands(summands_of_thread());
  }
}

const float* const* StepLookups::read(size_t begin, size_t end) {
  if (!added_up_) return sums_.add_up_some(summands_of_thread(), begin, end);
  prefetch_sums(begin + 2 * kReadRows, end + 2 * kReadRows);
  return sums_.sums().data() + begin;
}

void StepLookups::clear() {
  lookups_.clear();
  counts_.clear();
  places_.clear();
  forget_sums();
}

}  // namespace millrace
