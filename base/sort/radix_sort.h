// Sorting by numbers, digit by digit.
#ifndef MILLRACE_BASE_SORT_RADIX_SORT_H_
#define MILLRACE_BASE_SORT_RADIX_SORT_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace millrace {

// Returns a number that has the order of `value`. 0 and -0 have the same. REQUIRES: `value` is not
// not-a-number.
inline uint32_t ordered_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f);  // -0 + 0 is 0
  const uint32_t sign = uint32_t{1} << 31;
  return (bits & sign) != 0 ? ~bits : bits | sign;
}
inline uint64_t ordered_bits(int64_t value) {
  return static_cast<uint64_t>(value) ^ uint64_t { 1 } << 63;
}

namespace radix_sort_internal {

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;
// Below it, counting digits costs more than comparing.
constexpr size_t kLeastRadixSize = 1024;

// Sorts `items` by `key`, a uint32_t or uint64_t, and keeps the order of equal ones. `scratch` has
// the same size and no defined content afterwards.
template <typename Item, typename Key>
void sort_by(std::vector<Item>& items, std::vector<Item>& scratch, const Key& key) {
  const uint64_t first = key(items.front());
  uint64_t varying = 0;  // bits in which keys differ
  for (const Item& item : items) varying |= key(item) ^ first;
  for (int shift = 0; shift < 64 && varying >> shift != 0; shift += kDigitBits) {
    if ((varying >> shift & (kDigits - 1)) == 0) continue;
    const auto digit = [&](const Item& item) {
      return static_cast<size_t>(key(item) >> shift & (kDigits - 1));
    };
    std::array<size_t, kDigits> places = {};  // of the next item with this digit
    for (const Item& item : items) ++places[digit(item)];
    size_t before = 0;
    for (size_t& place : places) before += std::exchange(place, before);
    for (const Item& item : items) scratch[places[digit(item)]++] = item;
    items.swap(scratch);
  }
}

}  // namespace radix_sort_internal

// Sorts `items` by the first of `keys`, equal ones by the next, and so on. Each key is a function
// that returns the uint32_t or uint64_t of an item, such as ordered_bits(). Takes O(n), memory for
// another n items, and next to nothing if the items are sorted already.
//
//   radix_sort(&examples, [](const Example& e) { return ordered_bits(e.prediction); });
template <typename Item, typename... Keys>
void radix_sort(std::vector<Item>* items, const Keys&... keys) {
  const auto is_before = [&](const Item& a, const Item& b) {
    return std::make_tuple(keys(a)...) < std::make_tuple(keys(b)...);
  };
  if (std::is_sorted(items->begin(), items->end(), is_before)) return;
  if (items->size() < radix_sort_internal::kLeastRadixSize) {
    std::sort(items->begin(), items->end(), is_before);
    return;
  }
  std::vector<Item> scratch(items->size());
  // Sorts by the last key first. Sorting by an earlier key keeps the order of items with equal
  // keys.
  const auto sort_backwards = [&](const auto& self, const auto& key, const auto&... rest) -> void {
    if constexpr (sizeof...(rest) > 0) self(self, rest...);
    radix_sort_internal::sort_by(*items, scratch, key);
  };
  sort_backwards(sort_backwards, keys...);
}

// Sorts items with equal keys by `value`. `items` are sorted by `key`. Cheaper than another key of
// radix_sort() where equal keys are few or come with few values.
//
//   sort_ties(absl::MakeSpan(examples), [](const Example& e) { return e.prediction; },
//             [](const Example& e) { return e.label; });
template <typename Item, typename Key, typename Value>
void sort_ties(absl::Span<Item> items, const Key& key, const Value& value) {
  const auto is_before = [&](const Item& a, const Item& b) { return value(a) < value(b); };
  for (size_t begin = 0, end = 0; begin < items.size(); begin = end) {
    while (end < items.size() && key(items[end]) == key(items[begin])) ++end;
    if (end - begin > 1) std::sort(items.begin() + begin, items.begin() + end, is_before);
  }
}

}  // namespace millrace

#endif  // MILLRACE_BASE_SORT_RADIX_SORT_H_
