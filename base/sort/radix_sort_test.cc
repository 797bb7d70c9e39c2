#include "base/sort/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "base/random/philox.h"

namespace millrace {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Item {
  int64_t group = 0;
  float value = 0;
  size_t place = 0;
};

std::vector<size_t> places(const std::vector<Item>& items) {
  std::vector<size_t> places;
  for (const Item& item : items) places.push_back(item.place);
  return places;
}

void expect_sorted(std::vector<Item> items) {
  std::vector<Item> expected = items;
  std::stable_sort(expected.begin(), expected.end(), [](const Item& a, const Item& b) {
    return std::tie(a.group, a.value, a.place) < std::tie(b.group, b.value, b.place);
  });
  radix_sort(
      &items, [](const Item& item) { return ordered_bits(item.group); },
      [](const Item& item) { return ordered_bits(item.value); },
      [](const Item& item) { return uint64_t{item.place}; });
  EXPECT_EQ(places(items), places(expected));
}

TEST(RadixSortTest, BitsHaveTheOrderOfFloats) {
  const float values[] = {-kInfinity, -3e38f, -1, -0.5f, -1e-45f, 0, 1e-45f, 0.5f, 1, kInfinity};
  for (size_t i = 0; i + 1 < std::size(values); ++i) {
    EXPECT_LT(ordered_bits(values[i]), ordered_bits(values[i + 1])) << values[i];
  }
  EXPECT_EQ(ordered_bits(-0.0f), ordered_bits(0.0f));
}

TEST(RadixSortTest, BitsHaveTheOrderOfIntegers) {
  const int64_t values[] = {std::numeric_limits<int64_t>::min(), -5, -1, 0, 1, 7,
                            std::numeric_limits<int64_t>::max()};
  for (size_t i = 0; i + 1 < std::size(values); ++i) {
    EXPECT_LT(ordered_bits(values[i]), ordered_bits(values[i + 1])) << values[i];
  }
}

TEST(RadixSortTest, EqualsAComparisonSort) {
  for (const size_t count : {0, 1, 2, 3, 100, 1023, 1024, 1025, 5000}) {
    SCOPED_TRACE(count);
    for (uint64_t seed = 0; seed < 6; ++seed) {
      std::vector<Item> items(count);
      for (size_t i = 0; i < count; ++i) {
        const uint64_t random = philox64(seed, 0, i);
        // Few groups, or any number; few values with ties and both zeros, or any.
        items[i].group =
            seed % 2 == 0 ? static_cast<int64_t>(random % 7) - 3 : static_cast<int64_t>(random);
        const float value = uniform24(philox(seed, 1, i)[0]) - 0.5f;
        items[i].value = seed % 3 == 0 ? std::round(4 * value) / 4 : value;
        items[i].place = i;
      }
      expect_sorted(items);
    }
  }
}

TEST(RadixSortTest, TiesAreSortedByAnotherValue) {
  std::vector<Item> items = {{1, 0.5f, 3}, {1, 0.25f, 2}, {2, 0.75f, 1}, {3, 1, 5}, {3, -1, 4}};
  const auto group = [](const Item& item) { return item.group; };
  const auto value = [](const Item& item) { return item.value; };
  sort_ties(absl::MakeSpan(items), group, value);
  EXPECT_EQ(places(items), std::vector<size_t>({2, 3, 1, 4, 5}));
  sort_ties(absl::Span<Item>(), group, value);
}

TEST(RadixSortTest, EqualItems) {
  std::vector<float> values(3000, 0.25f);
  values[1500] = 0.125f;
  radix_sort(&values, [](float value) { return ordered_bits(value); });
  EXPECT_EQ(values[0], 0.125f);
  EXPECT_EQ(values, [] {
    std::vector<float> expected(3000, 0.25f);
    expected[0] = 0.125f;
    return expected;
  }());
}

}  // namespace
}  // namespace millrace
