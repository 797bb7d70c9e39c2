// Sorting by numbers, digit by digit.
#ifndef MILLRACE_BASE_SORT_RADIX_SORT_H_
#define MILLRACE_BASE_SORT_RADIX_SORT_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
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

// Returns the right shift of the numbers `bits(item)` after which the `kept_bits` highest differing
// bits remain. radix_sort() takes fewer passes for the shifted numbers, and sort_ties() puts the
// rest in order.
template <typename Item, typename Bits>
int shift_to_leading_bits(absl::Span<const Item> items, int kept_bits, const Bits& bits) {
  uint64_t varying = 0;
  for (const Item& item : items) varying |= uint64_t{bits(item)} ^ uint64_t { bits(items[0]) };
  return std::max(0, static_cast<int>(std::bit_width(varying)) - kept_bits);
}

// A key of radix_sort() of which only the lowest `kKeyBits` differ: fewer digits to count.
template <int kKeyBits, typename Function>
struct NarrowKey {
  static constexpr int kBits = kKeyBits;
  Function function;
  template <typename Item>
  auto operator()(const Item& item) const {
    return function(item);
  }
};
template <int kKeyBits, typename Function>
NarrowKey<kKeyBits, Function> narrow_key(Function function) {
  return {std::move(function)};
}

namespace radix_sort_internal {

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;
// For fewer items, counting digits costs more than comparing.
constexpr size_t kLeastRadixSize = 1024;

// Number of items for each value of a digit; later the place of the next item with that value.
using DigitCounts = std::array<size_t, kDigits>;

template <typename Item, typename Key>
constexpr int digits_of() {
  if constexpr (requires { Key::kBits; }) {
    return (Key::kBits + kDigitBits - 1) / kDigitBits;
  } else {
    using Bits = decltype(std::declval<const Key&>()(std::declval<const Item&>()));
    return (8 * sizeof(Bits) + kDigitBits - 1) / kDigitBits;
  }
}

inline size_t digit_of(uint64_t bits, int digit) {
  return bits >> (digit * kDigitBits) & (kDigits - 1);
}

template <int kCount>
void count_digits(uint64_t bits, DigitCounts* counts) {
  for (int digit = 0; digit < kCount; ++digit) ++counts[digit][digit_of(bits, digit)];
}

// Sorts by `key`, whose digits are counted in `counts`, and keeps the order of equal keys. The
// result is in `items`, which may have been swapped with `scratch`.
template <typename Item, typename Key>
void sort_by(absl::Span<Item>& items, absl::Span<Item>& scratch, const Key& key,
             DigitCounts* counts) {
  for (int digit = 0; digit < digits_of<Item, Key>(); ++digit) {
    DigitCounts& places = counts[digit];
    if (places[digit_of(key(items[0]), digit)] == items.size()) continue;  // all are equal
    size_t before = 0;
    for (size_t& place : places) before += std::exchange(place, before);
    for (const Item& item : items) scratch[places[digit_of(key(item), digit)]++] = item;
    std::swap(items, scratch);
  }
}

}  // namespace radix_sort_internal

// Sorts `items` by the first of `keys`, equal ones by the next, and so on. Each key is a function
// that returns the uint32_t or uint64_t of an item, such as ordered_bits(), or a narrow_key().
// Takes O(n), memory for another n items, and next to nothing if the items are sorted already.
//
//   radix_sort(&examples, [](const Example& e) { return ordered_bits(e.prediction); });
template <typename Item, typename... Keys>
void radix_sort(std::vector<Item>* items, const Keys&... keys) {
  using namespace radix_sort_internal;
  const auto is_before = [&](const Item& a, const Item& b) {
    return std::make_tuple(keys(a)...) < std::make_tuple(keys(b)...);
  };
  if (std::is_sorted(items->begin(), items->end(), is_before)) return;
  if (items->size() < kLeastRadixSize) {
    std::sort(items->begin(), items->end(), is_before);
    return;
  }
  // The digits of all keys are counted in one pass.
  std::vector<DigitCounts> counts((digits_of<Item, Keys>() + ...));
  for (const Item& item : *items) {
    DigitCounts* next = counts.data();
    ((count_digits<digits_of<Item, Keys>()>(keys(item), next), next += digits_of<Item, Keys>()),
     ...);
  }
  const std::unique_ptr<Item[]> memory = std::make_unique_for_overwrite<Item[]>(items->size());
  absl::Span<Item> sorted = absl::MakeSpan(*items);
  absl::Span<Item> scratch(memory.get(), items->size());
  // Sorts by the last key first. Sorting by an earlier key keeps the order of items with equal
  // keys.
  const auto sort_backwards = [&](const auto& self, DigitCounts* first, const auto& key,
                                  const auto&... rest) -> void {
    using Key = std::remove_cvref_t<decltype(key)>;
    if constexpr (sizeof...(rest) > 0) self(self, first + digits_of<Item, Key>(), rest...);
    sort_by(sorted, scratch, key, first);
  };
  sort_backwards(sort_backwards, counts.data(), keys...);
  if (sorted.data() != items->data()) std::copy(sorted.begin(), sorted.end(), items->begin());
}

// Sorts items with equal keys by `value`, which may be a tuple. `items` are sorted by `key`.
// Cheaper than another key of radix_sort() where equal keys are few or come with few values.
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
