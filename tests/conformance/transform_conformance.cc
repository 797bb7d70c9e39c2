#include "tests/conformance/transform_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "io/bad_rows.h"

namespace millrace {
namespace {

constexpr int64_t kRows = 64;
constexpr int64_t kOtherRows = 3;  // of crossed columns, before the rows of the unit

// A column whose rows the suite passes to a transform.
struct Source {
  std::string name;
  Column column;
  std::vector<float> weights;  // of the values; empty: none
};

const std::vector<std::string>& texts() {
  static const std::vector<std::string> texts = {"",
                                                 "a",
                                                 "red",
                                                 "17",
                                                 "-3",
                                                 " spaces ",
                                                 "\xc3\xa9",
                                                 std::string("\xff\0z", 3),
                                                 std::string(1000, 'x')};
  return texts;
}

const std::vector<int64_t>& ids() {
  static const std::vector<int64_t> ids = {0,  1,
                                           -1, 17,
                                           17, std::numeric_limits<int64_t>::min(),
                                           12, 3,
                                           99, std::numeric_limits<int64_t>::max()};
  return ids;
}

const std::vector<double>& numbers() {
  static const std::vector<double> numbers = {0,     1,      -1,     0.5,   -0.0, 1e-300,
                                              1e300, -1e300, 0x1p53, -2.75, 3};
  return numbers;
}

// Returns rows of one value each or, if `jagged`, of 0 to 3, with weights if `weighted`.
Source source_of(ValueType type, bool jagged, bool weighted) {
  Source source;
  source.name = absl::StrCat(describe(type), jagged ? ", lists" : "", weighted ? ", weights" : "");
  Column& column = source.column;
  column.type = type;
  column.rows = kRows;
  if (jagged) column.offsets = {0};
  for (int64_t row = 0; row < kRows; ++row) {
    const int64_t count = jagged ? row % 4 : 1;
    for (int64_t k = 0; k < count; ++k) {
      const size_t i = static_cast<size_t>(7 * row + k);
      if (type == ValueType::kString) {
        column.strings.push_back(texts()[i % texts().size()]);
      } else if (type == ValueType::kDouble) {
        column.doubles.push_back(numbers()[i % numbers().size()]);
      } else {
        column.int64s.push_back(ids()[i % ids().size()]);
      }
      if (weighted) source.weights.push_back(static_cast<float>(i % 5) / 2);
    }
    if (jagged) column.offsets.push_back(column.offsets.back() + count);
  }
  return source;
}

std::vector<Source> sources_of(Transform::Takes takes) {
  std::vector<ValueType> types = {ValueType::kInt64, ValueType::kUint64};
  const bool is_any = takes == Transform::Takes::kAny;
  if (is_any || takes == Transform::Takes::kTextOrIntegers) types.push_back(ValueType::kString);
  if (is_any || takes == Transform::Takes::kNumbers) types.push_back(ValueType::kDouble);
  std::vector<Source> sources;
  for (const ValueType type : types) {
    for (const bool jagged : {false, true}) {
      for (const bool weighted : {false, true}) {
        sources.push_back(source_of(type, jagged, weighted));
      }
    }
  }
  return sources;
}

// Returns rows [begin, end) of a column.
Column slice(const Column& column, int64_t begin, int64_t end) {
  Column part;
  part.type = column.type;
  part.rows = end - begin;
  if (!column.offsets.empty()) {
    for (int64_t row = begin; row <= end; ++row) {
      part.offsets.push_back(column.begin(row) - column.begin(begin));
    }
  }
  for (int64_t i = column.begin(begin); i < column.begin(end); ++i) {
    if (column.type == ValueType::kString) part.strings.push_back(column.strings[i]);
    if (column.type == ValueType::kDouble) part.doubles.push_back(column.doubles[i]);
    if (!column.int64s.empty()) part.int64s.push_back(column.int64s[i]);
  }
  return part;
}

// Returns the input of a transform, as FeatureTransform makes it from a column.
FeatureValues values_of(const Column& column, Transform::Takes takes) {
  FeatureValues values;
  values.list.rows = column.rows;
  values.list.offsets = column.offsets;
  values.are_ids = column.type == ValueType::kInt64 ||
                   (column.type == ValueType::kUint64 && takes != Transform::Takes::kNumbers);
  if (values.are_ids) {
    values.list.values = column.int64s;
  } else if (column.type == ValueType::kDouble) {
    values.numbers = column.doubles;
  } else {
    for (const int64_t id : column.int64s) values.numbers.push_back(static_cast<uint64_t>(id));
  }
  return values;
}

// Returns the other feature of a cross: row r of the whole column has ids r and r + 1.
IdColumn crossed(int64_t begin, int64_t end) {
  IdColumn other;
  other.rows = kOtherRows + end - begin;
  other.offsets = {0};
  for (int64_t row = begin - kOtherRows; row < end; ++row) {
    other.values.insert(other.values.end(), {row, row + 1});
    other.offsets.push_back(static_cast<int64_t>(other.values.size()));
  }
  return other;
}

struct Result {
  absl::Status status;
  FeatureValues values;
  std::vector<bool> bad;  // by row
};

// Applies a transform to rows [begin, end).
Result apply(const Transform& transform, const Source& source, int64_t begin, int64_t end,
             bool skip = true) {
  const Column column = slice(source.column, begin, end);
  Result result;
  result.values = values_of(column, transform.takes());
  if (!source.weights.empty()) {
    const auto first = source.weights.begin();
    result.values.list.weights.assign(first + source.column.begin(begin),
                                      first + source.column.begin(end));
    result.values.list.values.resize(column.values());
  }
  const IdColumn other = crossed(begin, end);
  const IdColumn* const others[] = {&other};
  BadRows bad(column.rows, skip);
  result.status =
      transform.apply({column, {"part.csv", "c1", begin}, bad, nullptr, others}, &result.values);
  for (int64_t row = 0; row < column.rows; ++row) result.bad.push_back(bad.contains(row));
  return result;
}

// Results of some rows, row by row. Omits values of bad rows, which do not matter.
struct RowValues {
  bool bad = false;
  std::vector<int64_t> ids;
  std::vector<double> numbers;
  std::vector<float> weights;
  friend bool operator==(const RowValues&, const RowValues&) = default;
};

bool has_valid_lists(const FeatureValues& values, int64_t rows) {
  const IdColumn& list = values.list;
  if (list.rows != rows) return false;
  if (!list.offsets.empty()) {
    if (static_cast<int64_t>(list.offsets.size()) != rows + 1 || list.offsets[0] != 0) return false;
    if (!std::is_sorted(list.offsets.begin(), list.offsets.end())) return false;
  }
  const auto count = static_cast<size_t>(list.offsets.empty() ? rows : list.offsets.back());
  if ((values.are_ids ? list.values.size() : values.numbers.size()) != count) return false;
  return list.weights.empty() || list.weights.size() == count;
}

// Appends the rows of `result`.
void append_rows(const Result& result, std::vector<RowValues>* rows) {
  ASSERT_OK(result.status);
  const IdColumn& list = result.values.list;
  ASSERT_TRUE(has_valid_lists(result.values, static_cast<int64_t>(result.bad.size())));
  for (int64_t row = 0; row < list.rows; ++row) {
    RowValues& values = rows->emplace_back();
    values.bad = result.bad[row];
    for (int64_t i = list.begin(row); i < list.end(row) && !values.bad; ++i) {
      if (result.values.are_ids) {
        values.ids.push_back(list.values[i]);
      } else {
        values.numbers.push_back(result.values.numbers[i]);
      }
      values.weights.push_back(list.weights.empty() ? 1 : list.weights[i]);
    }
  }
}

std::vector<RowValues> rows_of(const Transform& transform, const Source& source) {
  std::vector<RowValues> rows;
  append_rows(apply(transform, source, 0, kRows), &rows);
  return rows;
}

std::unique_ptr<Transform> prepared(const TransformConformance& c) {
  std::unique_ptr<Transform> transform = c.make();
  EXPECT_OK(transform->prepare(c.files()));
  return transform;
}

// Calls `check` with a transform and each source that the transform accepts.
void for_each_source(const TransformConformance& c,
                     const std::function<void(const Transform&, const Source&)>& check) {
  const std::unique_ptr<Transform> transform = prepared(c);
  for (const Source& source : sources_of(transform->takes())) {
    SCOPED_TRACE(source.name);
    check(*transform, source);
  }
}

void check_type(const TransformConformance& c) {
  EXPECT_EQ(c.make()->takes(), c.make()->takes());
  for_each_source(c, [](const Transform& transform, const Source& source) {
    const ValueType type = transform.gives(source.column.type);
    EXPECT_THAT(type, testing::AnyOf(ValueType::kInt64, ValueType::kUint64, ValueType::kDouble));
    const Result result = apply(transform, source, 0, kRows);
    EXPECT_OK(result.status);
    EXPECT_EQ(result.values.are_ids, type != ValueType::kDouble);
  });
}

void check_rows(const TransformConformance& c) {
  for_each_source(c, [](const Transform& transform, const Source& source) {
    for (const int64_t rows : {int64_t{1}, int64_t{2}, kRows}) {
      const Result result = apply(transform, source, 0, rows);
      EXPECT_OK(result.status);
      EXPECT_TRUE(has_valid_lists(result.values, rows)) << "of " << rows << " rows";
    }
  });
}

void check_finite(const TransformConformance& c) {
  for_each_source(c, [](const Transform& transform, const Source& source) {
    for (const RowValues& row : rows_of(transform, source)) {
      for (const double number : row.numbers) EXPECT_TRUE(std::isfinite(number)) << number;
      for (const float weight : row.weights) EXPECT_TRUE(std::isfinite(weight)) << weight;
    }
  });
}

void check_cuts(const TransformConformance& c) {
  for_each_source(c, [](const Transform& transform, const Source& source) {
    const std::vector<RowValues> expected = rows_of(transform, source);
    for (const int64_t size : {1, 7, 30}) {
      std::vector<RowValues> rows;
      for (int64_t begin = 0; begin < kRows; begin += size) {
        append_rows(apply(transform, source, begin, std::min(begin + size, kRows)), &rows);
      }
      EXPECT_TRUE(rows == expected) << size << " rows in a call";
    }
  });
}

void check_no_rows(const TransformConformance& c) {
  for_each_source(c, [](const Transform& transform, const Source& source) {
    const Result result = apply(transform, source, 5, 5);
    EXPECT_OK(result.status);
    EXPECT_TRUE(has_valid_lists(result.values, 0));
  });
}

void check_every_call(const TransformConformance& c) {
  const std::unique_ptr<Transform> second = prepared(c);
  for_each_source(c, [&](const Transform& transform, const Source& source) {
    const std::vector<RowValues> rows = rows_of(transform, source);
    EXPECT_TRUE(rows_of(transform, source) == rows) << "a second time";
    EXPECT_TRUE(rows_of(*second, source) == rows) << "a second instance";
  });
}

void check_threads(const TransformConformance& c) {
  for_each_source(c, [](const Transform& transform, const Source& source) {
    const std::vector<RowValues> expected = rows_of(transform, source);
    std::vector<std::vector<RowValues>> rows(4);
    call_on_threads(rows, [&](auto& each) { each = rows_of(transform, source); });
    for (const std::vector<RowValues>& each : rows) EXPECT_TRUE(each == expected);
  });
}

void check_bad_rows(const TransformConformance& c) {
  for_each_source(c, [](const Transform& transform, const Source& source) {
    const Result skipped = apply(transform, source, 0, kRows);
    EXPECT_OK(skipped.status) << "bad rows may be left out";
    for (int64_t row = 0; row < kRows; ++row) {
      const absl::Status strict = apply(transform, source, row, row + 1, /*skip=*/false).status;
      if (!skipped.bad[row]) {
        EXPECT_OK(strict) << "row " << row << " is not among the bad rows";
        continue;
      }
      EXPECT_THAT(strict, StatusIs(absl::StatusCode::kDataLoss,
                                   testing::AllOf(testing::HasSubstr("part.csv"),
                                                  testing::HasSubstr(absl::StrCat("row ", row)),
                                                  testing::HasSubstr("column c1"))));
    }
  });
}

}  // namespace

std::vector<Property> transform_properties(const TransformConformance& conformance) {
  const auto property = properties_of(conformance);
  return {
      property("GivesTheTypeThatItSays", check_type),
      property("KeepsRowsAndOffsetsValid", check_rows),
      property("GivesFiniteNumbers", check_finite),
      property("DoesNotDependOnCuts", check_cuts),
      property("TakesNoRows", check_no_rows),
      property("IsTheSameAtEveryCall", check_every_call),
      property("IsTheSameOnSeveralThreads", check_threads),
      property("ReportsBadRows", check_bad_rows),
  };
}

bool register_transform_conformance(const std::string& suite,
                                    const TransformConformance& conformance,
                                    std::source_location place) {
  return register_properties(suite, transform_properties(conformance), place);
}

}  // namespace millrace
