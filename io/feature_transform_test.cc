#include "io/feature_transform.h"

#include <google/protobuf/text_format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "io/transform.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ColumnPlace kPlace = {.path = "f.orc", .column = "x", .first_row = 100};

FeatureConfig feature(const std::string& text) {
  FeatureConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'x' " + text, &config)) << text;
  return config;
}

absl::StatusOr<FeatureTransform> make(const std::string& text, ValueType type) {
  return FeatureTransform::create(feature(text), type, /*binary_labels=*/true);
}

template <typename T>
Column column(ValueType type, const std::vector<std::vector<T>>& rows) {
  Column column;
  column.type = type;
  column.rows = static_cast<int64_t>(rows.size());
  column.offsets = {0};
  for (const auto& row : rows) {
    for (const T& value : row) {
      if constexpr (std::is_same_v<T, std::string>) {
        column.strings.push_back(value);
      } else if constexpr (std::is_same_v<T, double>) {
        column.doubles.push_back(value);
      } else {
        column.int64s.push_back(value);
      }
    }
    column.offsets.push_back(column.offsets.back() + static_cast<int64_t>(row.size()));
  }
  return column;
}
Column ints(const std::vector<std::vector<int64_t>>& rows) {
  return column(ValueType::kInt64, rows);
}
Column doubles(const std::vector<std::vector<double>>& rows) {
  return column(ValueType::kDouble, rows);
}
Column texts(const std::vector<std::vector<std::string>>& rows) {
  return column(ValueType::kString, rows);
}

absl::StatusOr<std::vector<float>> numbers(const std::string& text, const Column& column) {
  ASSIGN_OR_RETURN(const FeatureTransform transform, make(text, column.type));
  std::vector<float> out;
  RETURN_IF_ERROR(transform.append_numbers(column, kPlace, &out));
  return out;
}

absl::StatusOr<IdColumn> ids(const std::string& text, const Column& column) {
  ASSIGN_OR_RETURN(const FeatureTransform transform, make(text, column.type));
  IdColumn out;
  RETURN_IF_ERROR(transform.append_ids(column, kPlace, &out));
  return out;
}

TEST(FeatureTransformTest, DenseNumbersWithDefault) {
  EXPECT_THAT(numbers("kind: DENSE default_value: -1 transform { log1p {} }",
                      doubles({{std::exp(1.0) - 1}, {}, {0}})),
              IsOkAndHolds(ElementsAre(testing::FloatEq(1), -1, 0)));
  EXPECT_THAT(numbers("kind: DENSE transform { clip { min: 0 max: 3 } }", ints({{-4}, {2}, {9}})),
              IsOkAndHolds(ElementsAre(0, 2, 3)));
}

TEST(FeatureTransformTest, TransformsRunInTheOrderWritten) {
  EXPECT_THAT(
      numbers("kind: DENSE transform { clip { max: 0 } } transform { log1p {} }", doubles({{5}})),
      IsOkAndHolds(ElementsAre(0)));
  EXPECT_THAT(numbers("kind: DENSE transform { bucketize { boundary: [1, 2] } }",
                      doubles({{0}, {1.5}, {7}})),
              IsOkAndHolds(ElementsAre(0, 1, 2)));
}

TEST(FeatureTransformTest, LabelsFromARating) {
  const std::string label = "kind: LABEL transform { threshold { at_least: 4 } }";
  EXPECT_THAT(numbers(label, doubles({{3.5}, {4}, {5}, {-1}})),
              IsOkAndHolds(ElementsAre(0, 1, 1, 0)));
  EXPECT_THAT(numbers(label, ints({{3}, {4}})), IsOkAndHolds(ElementsAre(0, 1)));
  EXPECT_THAT(numbers(label + " default_value: 0", doubles({{5}, {}})),
              IsOkAndHolds(ElementsAre(1, 0)));
  Column unsigned_rating = ints({{-1}, {3}});  // 2^64 - 1
  unsigned_rating.type = ValueType::kUint64;
  EXPECT_THAT(numbers(label, unsigned_rating), IsOkAndHolds(ElementsAre(1, 0)));
  EXPECT_THAT(numbers("kind: DENSE transform { threshold { at_least: 0 } } transform { log1p {} }",
                      doubles({{-3}, {2}})),
              IsOkAndHolds(ElementsAre(0, testing::FloatEq(std::log(2.0f)))));
}

TEST(FeatureTransformTest, UnsignedNumbersKeepTheirValue) {
  Column column = ints({{-1}});  // 2^64 - 1
  column.type = ValueType::kUint64;
  EXPECT_THAT(numbers("kind: DENSE", column), IsOkAndHolds(ElementsAre(18446744073709551615.0f)));
}

TEST(FeatureTransformTest, SparseLists) {
  ASSERT_OK_AND_ASSIGN(const IdColumn plain, ids("", ints({{1, 2}, {}, {3}})));
  EXPECT_THAT(plain.values, ElementsAre(1, 2, 3));
  EXPECT_THAT(plain.offsets, ElementsAre(0, 2, 2, 3));
  ASSERT_OK_AND_ASSIGN(
      const IdColumn filled,
      ids("default_id: 77 transform { modulo { divisor: 2 } }", ints({{1, 2}, {}, {3}})));
  EXPECT_THAT(filled.values, ElementsAre(1, 0, 77, 1));
  EXPECT_THAT(filled.offsets, ElementsAre(0, 2, 3, 4));
}

TEST(FeatureTransformTest, HashOfTextThenModulo) {
  ASSERT_OK_AND_ASSIGN(const IdColumn hashed, ids("transform { hash { function: MURMUR_HASH seed: "
                                                  "3 } } transform { modulo { divisor: 10 } }",
                                                  texts({{"a"}, {}, {"b", "c"}})));
  EXPECT_THAT(hashed.values, ElementsAre(murmur_hash_64a("a", 3) % 10, murmur_hash_64a("b", 3) % 10,
                                         murmur_hash_64a("c", 3) % 10));
}

TEST(FeatureTransformTest, AppendsUnitAfterUnit) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, make("", ValueType::kInt64));
  Column single;
  single.rows = 2;
  single.int64s = {5, 6};
  IdColumn out;
  ASSERT_OK(transform.append_ids(single, kPlace, &out));
  EXPECT_THAT(out.offsets, IsEmpty());
  ASSERT_OK(transform.append_ids(ints({{7, 8}, {}}), kPlace, &out));
  ASSERT_OK(transform.append_ids(single, kPlace, &out));
  EXPECT_THAT(out.values, ElementsAre(5, 6, 7, 8, 5, 6));
  EXPECT_THAT(out.offsets, ElementsAre(0, 1, 2, 4, 4, 5, 6));
  EXPECT_EQ(out.rows, 6);
}

TEST(FeatureTransformTest, BadValuesNameFileRowAndColumn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  auto fails = [](const absl::Status& status, const std::string& what) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                 AllOf(HasSubstr("f.orc, row 102, column x"), HasSubstr(what))));
  };
  fails(numbers("kind: DENSE", doubles({{1}, {1}, {nan}})).status(), "nan is not a finite");
  fails(numbers("kind: WEIGHT", doubles({{1}, {2}, {infinity}})).status(), "inf is not a finite");
  fails(numbers("kind: DENSE", doubles({{1}, {1}, {1e300}})).status(), "does not fit");
  fails(numbers("kind: DENSE", doubles({{1}, {1}, {}})).status(), "no value");
  fails(numbers("kind: DENSE default_value: 1", doubles({{1}, {}, {1, 2}})).status(), "2 values");
  fails(numbers("kind: LABEL", doubles({{1}, {0}, {0.5}})).status(), "label 0.5");
  fails(numbers("kind: LABEL", ints({{1}, {0}, {-1}})).status(), "label -1");
  fails(numbers("kind: LABEL transform { threshold { at_least: 4 } }", doubles({{5}, {3}, {nan}}))
            .status(),
        "nan is not a finite");
  fails(numbers("kind: LABEL transform { threshold { at_least: 4 } }", doubles({{5}, {3}, {}}))
            .status(),
        "no value");
  fails(ids("transform { bucketize { boundary: 1 } }", doubles({{}, {1, 2}, {nan}})).status(),
        "nan is not");
}

TEST(FeatureTransformTest, LabelsOfOtherTasksMayBeAnyNumber) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       FeatureTransform::create(feature("kind: LABEL"), ValueType::kDouble, false));
  std::vector<float> out;
  ASSERT_OK(transform.append_numbers(doubles({{0.5}, {-7}}), kPlace, &out));
  EXPECT_THAT(out, ElementsAre(0.5, -7));
}

TEST(FeatureTransformTest, SingleIds) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, make("kind: GROUP_ID", ValueType::kInt64));
  std::vector<int64_t> out;
  ASSERT_OK(transform.append_single_ids(ints({{4}, {5}}), kPlace, &out));
  EXPECT_THAT(out, ElementsAre(4, 5));
  EXPECT_THAT(transform.append_single_ids(ints({{4}, {}}), kPlace, &out),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("row 101, column x: no value")));
  EXPECT_THAT(transform.append_single_ids(ints({{4, 5}}), kPlace, &out),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("2 values")));
}

TEST(FeatureTransformTest, TypesThatDoNotFitNameFeatureAndColumn) {
  auto fails = [](const std::string& text, ValueType type, const std::string& what) {
    EXPECT_THAT(make("column: 'c' " + text, type),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("feature \"x\" from column \"c\""), HasSubstr(what))))
        << text;
  };
  fails("kind: DENSE", ValueType::kString, "DENSE needs numbers and gets text");
  fails("", ValueType::kString, "add the transform hash");
  fails("", ValueType::kDouble, "add the transform bucketize");
  fails("transform { hash {} }", ValueType::kDouble, "hash needs text or integers");
  fails("transform { modulo { divisor: 3 } }", ValueType::kString, "modulo needs integers");
  fails("transform { log1p {} }", ValueType::kString, "log1p needs numbers and gets text");
  fails("transform { log1p {} }", ValueType::kInt64, "SPARSE needs integers");
  fails("transform { threshold { at_least: 1 } }", ValueType::kInt64, "SPARSE needs integers");
  fails("kind: LABEL transform { threshold { at_least: 1 } }", ValueType::kString,
        "threshold needs numbers and gets text");
}

TEST(FeatureTransformTest, ParametersOutOfRange) {
  auto fails = [](const std::string& text, const std::string& what) {
    EXPECT_THAT(make(text, ValueType::kInt64),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  fails("transform { modulo {} }", "divisor must be at least 1");
  fails("transform { bucketize { boundary: [1, 1] } }", "increase strictly");
  fails("transform { bucketize { boundary: nan } }", "increase strictly");
  fails("kind: DENSE transform { clip { min: 2 max: 1 } }", "min must not be above max");
  fails("transform { hash { function: FARM_HASH seed: 1 } }", "takes no seed");
  fails("kind: LABEL transform { threshold {} }", "at_least must be given");
  fails("kind: LABEL transform { threshold { at_least: nan } }", "at_least must be given");
  fails("transform {}", "says nothing");
  fails("default_value: 1", "use default_id");
  fails("kind: DENSE default_id: 1", "use default_value");
  fails("kind: DENSE default_value: inf", "finite");
  fails("kind: LABEL default_value: 2", "must be 0 or 1");
}

TEST(FeatureTransformTest, DelimitedTextIsReadAsTheFeatureNeeds) {
  auto reads = [](const std::string& text) { return make(text, ValueType::kText)->reads_as(); };
  EXPECT_EQ(reads(""), ValueType::kInt64);
  EXPECT_EQ(reads("kind: DENSE"), ValueType::kDouble);
  EXPECT_EQ(reads("transform { hash {} }"), ValueType::kString);
  EXPECT_EQ(reads("transform { modulo { divisor: 2 } }"), ValueType::kInt64);
  EXPECT_EQ(reads("transform { bucketize { boundary: 2 } }"), ValueType::kDouble);
  EXPECT_EQ(reads("kind: LABEL transform { threshold { at_least: 2 } }"), ValueType::kDouble);
}

}  // namespace
}  // namespace millrace
