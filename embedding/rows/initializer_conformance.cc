#include "embedding/rows/initializer_conformance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace millrace {
namespace {

constexpr int64_t kDim = 19;
constexpr float kUnset = std::numeric_limits<float>::quiet_NaN();

// Returns typical ids: small, hashed, negative, and the limits of the range.
std::vector<int64_t> test_ids() {
  std::vector<int64_t> ids = {0, -1, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()};
  for (int64_t i = 1; i < 200; ++i) {
    ids.push_back(i);
    ids.push_back(static_cast<int64_t>(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15));
  }
  return ids;
}

std::unique_ptr<RowInitializer> make_one(const InitializerConformance& c, int64_t dim = kDim,
                                         uint64_t seed = 1, const std::string& table = "items") {
  return c.make({.table = table, .seed = seed, .dim = dim});
}

std::vector<float> row_of(const RowInitializer& initializer, int64_t id, int64_t columns = kDim) {
  std::vector<float> row(columns, kUnset);
  initializer.fill(id, absl::MakeSpan(row));
  return row;
}

std::vector<std::vector<float>> rows_of(const RowInitializer& initializer) {
  std::vector<std::vector<float>> rows;
  for (const int64_t id : test_ids()) rows.push_back(row_of(initializer, id));
  return rows;
}

void check_finite(const InitializerConformance& c) {
  for (const int64_t dim : {1, 2, 3, 4, 16, 19, 100}) {
    const auto initializer = make_one(c, dim);
    for (const int64_t id : test_ids()) {
      for (const float value : row_of(*initializer, id, dim)) {
        ASSERT_TRUE(std::isfinite(value)) << value << " in the row of id " << id << ", dim " << dim;
      }
    }
  }
}

void check_bounds(const InitializerConformance& c) {
  const auto initializer = make_one(c);
  for (int64_t columns = 0; columns <= kDim; ++columns) {
    std::vector<float> memory(kDim + 2, 7);
    initializer->fill(5, absl::MakeSpan(memory).subspan(1, columns));
    EXPECT_EQ(memory[0], 7) << "before the row";
    for (size_t i = columns + 1; i < memory.size(); ++i) EXPECT_EQ(memory[i], 7) << "behind it";
  }
}

void check_every_call(const InitializerConformance& c) {
  const auto initializer = make_one(c);
  const std::vector<std::vector<float>> rows = rows_of(*initializer);
  EXPECT_EQ(rows_of(*initializer), rows) << "a second time";
  EXPECT_EQ(rows_of(*make_one(c)), rows) << "a second instance";
  const std::vector<int64_t> ids = test_ids();
  for (size_t i = ids.size(); i-- > 0;) {
    ASSERT_EQ(row_of(*initializer, ids[i]), rows[i]) << "in another order, id " << ids[i];
  }
}

void check_threads(const InitializerConformance& c) {
  const auto initializer = make_one(c);
  std::vector<std::vector<std::vector<float>>> rows(4);
  call_on_threads(rows, [&](auto& each) { each = rows_of(*initializer); });
  const std::vector<std::vector<float>> expected = rows_of(*make_one(c));
  for (const auto& each : rows) EXPECT_EQ(each, expected);
}

void check_prefix(const InitializerConformance& c) {
  const auto initializer = make_one(c);
  for (const int64_t id : {int64_t{0}, int64_t{7}, int64_t{-3}}) {
    const std::vector<float> whole = row_of(*initializer, id);
    for (int64_t columns = 0; columns < kDim; ++columns) {
      EXPECT_EQ(row_of(*initializer, id, columns),
                std::vector<float>(whole.begin(), whole.begin() + columns));
    }
  }
}

void check_tables(const InitializerConformance& c) {
  const auto rows = rows_of(*make_one(c));
  const auto other = rows_of(*make_one(c, kDim, 1, "users"));
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_NE(rows[i], other[i]);
}

void check_seeds(const InitializerConformance& c) {
  const auto rows = rows_of(*make_one(c));
  const auto other = rows_of(*make_one(c, kDim, 2));
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_NE(rows[i], other[i]);
}

void check_ids(const InitializerConformance& c) {
  std::set<std::vector<float>> rows;
  for (const std::vector<float>& row : rows_of(*make_one(c))) {
    EXPECT_TRUE(rows.insert(row).second) << "two ids have the same row";
  }
}

}  // namespace

std::vector<Property> initializer_properties(const InitializerConformance& conformance) {
  const auto property = properties_of(conformance);
  std::vector<Property> properties = {
      property("SetsEveryColumnToAFiniteValue", check_finite),
      property("WritesTheRowAlone", check_bounds),
      property("IsTheSameAtEveryCall", check_every_call),
      property("IsTheSameOnSeveralThreads", check_threads),
      property("ShortRowsBeginLongOnes", check_prefix),
  };
  if (conformance.random) {
    properties.push_back(property("DependsOnTheTable", check_tables));
    properties.push_back(property("DependsOnTheSeed", check_seeds));
    properties.push_back(property("DependsOnTheId", check_ids));
  }
  return properties;
}

bool register_initializer_conformance(const std::string& suite,
                                      const InitializerConformance& conformance,
                                      std::source_location place) {
  return register_properties(suite, initializer_properties(conformance), place);
}

}  // namespace millrace
