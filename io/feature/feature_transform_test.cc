#include "io/feature/feature_transform.h"

#include <google/protobuf/text_format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "io/transform/hash_functions.h"
#include "io/transform/transform_registry.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ColumnPlace kPlace = {.path = "f.orc", .column = "x", .first_row = 100};

// x → 1 / x, and without zeros if it leaves them out.
class Reciprocal : public Transform {
 public:
  explicit Reciprocal(bool omits_zeros) : omits_zeros_(omits_zeros) {}
  Takes takes() const override { return Takes::kNumbers; }
  ValueType gives(ValueType) const override { return ValueType::kDouble; }
  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    values->make_numbers();
    if (omits_zeros_) std::erase(values->numbers, 0);
    for (double& number : values->numbers) number = 1 / number;
    return absl::OkStatus();
  }

 private:
  const bool omits_zeros_;
};
MILLRACE_REGISTER_TRANSFORM(reciprocal, "1 / x", [](const CustomConfig&) {
  return std::make_unique<Reciprocal>(false);
});
MILLRACE_REGISTER_TRANSFORM(omitting, "1 / x without zeros",
                            [](const CustomConfig&) { return std::make_unique<Reciprocal>(true); });

// The number of values in the row is not changed, nor are ids of integers.
class TextOrIntegers : public Transform {
 public:
  Takes takes() const override { return Takes::kTextOrIntegers; }
  absl::Status apply(const FeatureInput&, FeatureValues*) const override {
    return absl::OkStatus();
  }
};
MILLRACE_REGISTER_TRANSFORM(text_or_integers, "takes both",
                            [](const CustomConfig&) { return std::make_unique<TextOrIntegers>(); });

class SameForText : public TextOrIntegers {
 public:
  bool distinguishes_text() const override { return false; }
};
MILLRACE_REGISTER_TRANSFORM(same_for_text, "takes both alike",
                            [](const CustomConfig&) { return std::make_unique<SameForText>(); });

// Makes one id of each number, and then the form wrong in the way that the test set last.
using Break = void (*)(FeatureValues& values);
Break& break_form() {
  static Break how = nullptr;
  return how;
}
class Malformed : public Transform {
 public:
  Takes takes() const override { return Takes::kNumbers; }
  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    values->make_numbers();
    const absl::Span<int64_t> ids = values->make_ids(values->numbers.size());
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(values->numbers[i]);
    break_form()(*values);
    return absl::OkStatus();
  }
};
MILLRACE_REGISTER_TRANSFORM(malformed, "a wrong result",
                            [](const CustomConfig&) { return std::make_unique<Malformed>(); });

FeatureConfig feature(const std::string& text) {
  FeatureConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'x' " + text, &config)) << text;
  return config;
}

// Holds the vocabulary /words.
FileSystem& test_files() {
  static MemoryFileSystem* files = [] {
    auto* made = new MemoryFileSystem;
    made->put("/words", "red\ngreen\n7\n");
    return made;
  }();
  return *files;
}

absl::StatusOr<FeatureTransform> make(const std::string& text, ValueType type) {
  return FeatureTransform::create(feature(text), type, LabelRange::kBinary, test_files());
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

// Appends where a bad row is an error.
absl::Status append(const FeatureTransform& transform, const Column& column, IdColumn* out) {
  BadRows bad(column.rows, /*skip=*/false);
  return transform.append_ids({column, kPlace, bad}, out);
}
absl::Status append(const FeatureTransform& transform, const Column& column,
                    std::vector<float>* out) {
  BadRows bad(column.rows, /*skip=*/false);
  return transform.append_numbers({column, kPlace, bad}, out);
}
absl::Status append(const FeatureTransform& transform, const Column& column,
                    std::vector<int64_t>* out) {
  BadRows bad(column.rows, /*skip=*/false);
  return transform.append_single_ids({column, kPlace, bad}, out);
}

absl::StatusOr<std::vector<float>> numbers(const std::string& text, const Column& column) {
  ASSIGN_OR_RETURN(const FeatureTransform transform, make(text, column.type));
  std::vector<float> out;
  RETURN_IF_ERROR(append(transform, column, &out));
  return out;
}

absl::StatusOr<IdColumn> ids(const std::string& text, const Column& column) {
  ASSIGN_OR_RETURN(const FeatureTransform transform, make(text, column.type));
  IdColumn out;
  RETURN_IF_ERROR(append(transform, column, &out));
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

TEST(FeatureTransformTest, SaysWhetherTextHasOtherIdsThanIntegers) {
  MemoryFileSystem files;
  files.put("words", "1\n2\n");
  const std::vector<std::pair<std::string, bool>> cases = {
      {"", false},
      {"transform { hash {} }", true},
      {"transform { multi_hash { count: 2 divisor: 9 } }", true},
      {"transform { missing_values { text: 'NA' nan: true } } transform { hash {} }", true},
      {"transform { modulo { divisor: 9 } } transform { hash {} }", false},
      {"transform { cast {} } transform { hash {} }", false},
      {"transform { vocabulary { path: 'words' } }", false},
      {"transform { is_missing {} }", false},
      {"transform { custom { name: 'text_or_integers' } }", true},
      {"transform { custom { name: 'same_for_text' } }", false},
      {"transform { custom { name: 'reciprocal' } } transform { cast {} }", false}};
  for (const auto& [transforms, expected] : cases) {
    FeatureConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'x' " + transforms, &config));
    for (const ValueType column : {ValueType::kInt64, ValueType::kText}) {
      // missing_values refuses texts for a column of integers.
      if (column == ValueType::kInt64 && absl::StrContains(transforms, "text:")) continue;
      ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                           FeatureTransform::create(config, column, LabelRange::kAny, files));
      EXPECT_EQ(transform.distinguishes_text(), expected) << transforms;
    }
  }
}

TEST(FeatureTransformTest, AppendsUnitAfterUnit) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, make("", ValueType::kInt64));
  Column single;
  single.rows = 2;
  single.int64s = {5, 6};
  IdColumn out;
  ASSERT_OK(append(transform, single, &out));
  EXPECT_THAT(out.offsets, IsEmpty());
  ASSERT_OK(append(transform, ints({{7, 8}, {}}), &out));
  ASSERT_OK(append(transform, single, &out));
  EXPECT_THAT(out.values, ElementsAre(5, 6, 7, 8, 5, 6));
  EXPECT_THAT(out.offsets, ElementsAre(0, 1, 2, 4, 4, 5, 6));
  EXPECT_EQ(out.rows, 6);
}

TEST(FeatureTransformTest, ListsOfIds) {
  ASSERT_OK_AND_ASSIGN(
      const IdColumn out,
      ids("default_id: 3 transform { unique {} } transform { truncate { count: 2 keep: LAST } } "
          "transform { modulo { divisor: 10 } }",
          ints({{15, 6, 15, 7}, {}, {28}})));
  EXPECT_THAT(out.values, ElementsAre(6, 7, 3, 8));
  EXPECT_THAT(out.offsets, ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(out.weights, IsEmpty());
}

TEST(FeatureTransformTest, MultiHashOfTextsThenOthers) {
  ASSERT_OK_AND_ASSIGN(
      const IdColumn out,
      ids("transform { multi_hash { count: 2 divisor: 100 } } transform { truncate { count: 1 } }",
          texts({{"a", "b"}, {}})));
  EXPECT_THAT(out.values, ElementsAre(static_cast<int64_t>(xxh3("a") % 100)));
  EXPECT_THAT(out.offsets, ElementsAre(0, 1, 1));
}

TEST(FeatureTransformTest, VocabularyOfTextsAndIntegers) {
  ASSERT_OK_AND_ASSIGN(const IdColumn words,
                       ids("default_id: 9 transform { vocabulary { path: '/words' } }",
                           texts({{"green", "blue", "red"}, {"blue"}, {}})));
  EXPECT_THAT(words.values, ElementsAre(1, 0, 9, 9)) << "what is no line is left out";
  EXPECT_THAT(words.offsets, ElementsAre(0, 2, 3, 4));
  ASSERT_OK_AND_ASSIGN(
      const IdColumn numbers,
      ids("transform { vocabulary { path: '/words' other_ids: 1 } }", ints({{7}, {8}})));
  EXPECT_THAT(numbers.values, ElementsAre(2, 3));
  EXPECT_THAT(make("transform { vocabulary { path: '/none' } }", ValueType::kString),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("feature \"x\"")));
}

TEST(FeatureTransformTest, CrossesGoWithTheLastRowsOfTheOtherFeature) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       make("transform { cross { feature: 'y' seed: 4 } }", ValueType::kInt64));
  const Column column = ints({{1}, {2}});
  IdColumn other{.rows = 3, .offsets = {}, .values = {100, 5, 6}, .weights = {1, 2, 3}};
  const IdColumn* const crossed[] = {&other};
  BadRows bad(2, false);
  IdColumn out;
  ASSERT_OK(transform.append_ids({column, kPlace, bad, nullptr, crossed}, &out));
  auto id = [](int64_t a, int64_t b) {
    const std::array<char, 8> first = little_endian(a), second = little_endian(b);
    const std::string bytes =
        std::string(first.begin(), first.end()) + std::string(second.begin(), second.end());
    return static_cast<int64_t>(xxh3(bytes, 4));
  };
  EXPECT_THAT(out.values, ElementsAre(id(1, 5), id(2, 6)));
  EXPECT_THAT(out.weights, ElementsAre(2, 3));
}

TEST(FeatureTransformTest, WeightsStayWithTheirIds) {
  ASSERT_OK_AND_ASSIGN(
      const FeatureTransform transform,
      make("default_id: 0 transform { truncate { count: 2 } }", ValueType::kInt64));
  const Column column = ints({{1, 2, 3}, {}, {4}});
  const Column weights = doubles({{0.5, 1.5, 2.5}, {}, {3}});
  BadRows bad(3, false);
  IdColumn out;
  ASSERT_OK(transform.append_ids({column, kPlace, bad, &weights}, &out));
  EXPECT_THAT(out.values, ElementsAre(1, 2, 0, 4));
  EXPECT_THAT(out.weights, ElementsAre(0.5, 1.5, 1, 3)) << "a default weighs 1";
  const Column short_weights = doubles({{0.5}, {}, {3}});
  EXPECT_THAT(
      transform.append_ids({column, kPlace, bad, &short_weights}, &out),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("row 100, column x: 3 ids and 1 weights")));
  const Column no_number = doubles({{1, 2, 3}, {}, {std::nan("")}});
  EXPECT_THAT(transform.append_ids({column, kPlace, bad, &no_number}, &out),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("row 102, column x: weight nan")));
}

TEST(FeatureTransformTest, UnitsWithAndWithoutWeightsJoin) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, make("", ValueType::kInt64));
  const Column column = ints({{1}, {2}});
  const Column weights = doubles({{3}, {4}});
  BadRows bad(2, false);
  IdColumn out;
  ASSERT_OK(transform.append_ids({column, kPlace, bad}, &out));
  ASSERT_OK(transform.append_ids({column, kPlace, bad, &weights}, &out));
  ASSERT_OK(transform.append_ids({column, kPlace, bad}, &out));
  EXPECT_THAT(out.values, ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_THAT(out.weights, ElementsAre(1, 1, 3, 4, 1, 1));
}

TEST(FeatureTransformTest, BadRowsAreToldAndColumnsStayOfOneLength) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  BadRows bad(5, /*skip=*/true);
  std::vector<float> out;
  ASSERT_OK_AND_ASSIGN(const FeatureTransform number, make("kind: DENSE", ValueType::kDouble));
  const Column column = doubles({{1}, {nan}, {}, {1e300}, {2}});
  ASSERT_OK(number.append_numbers({column, kPlace, bad}, &out));
  ASSERT_EQ(out.size(), 5u);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[4], 2);
  EXPECT_EQ(bad.count(), 3);
  EXPECT_THAT(bad.first().message(), HasSubstr("f.orc, row 101, column x: nan"));
  std::vector<int64_t> single;
  ASSERT_OK_AND_ASSIGN(const FeatureTransform id, make("kind: GROUP_ID", ValueType::kInt64));
  const Column groups = ints({{1, 2}, {}, {3}, {}, {4}});
  ASSERT_OK(id.append_single_ids({groups, kPlace, bad}, &single));
  EXPECT_EQ(single.size(), 5u);
  EXPECT_EQ(bad.count(), 4) << "row 0 is new";
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
  fails(numbers("kind: WEIGHT", doubles({{1}, {0}, {-0.5}})).status(), "weight -0.5 is below 0");
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

TEST(FeatureTransformTest, CastMakesIntegersOfNumbersThatEqualThem) {
  ASSERT_OK_AND_ASSIGN(const IdColumn out,
                       ids("default_id: 7 transform { cast {} }",
                           doubles({{3, -0.0}, {}, {0x1p53 - 1}, {-(0x1p53 - 1)}})));
  EXPECT_THAT(out.values, ElementsAre(3, 0, 7, (int64_t{1} << 53) - 1, 1 - (int64_t{1} << 53)));
  EXPECT_THAT(out.offsets, ElementsAre(0, 2, 3, 4, 5));
  ASSERT_OK_AND_ASSIGN(const IdColumn hashed,
                       ids("transform { cast {} } transform { hash {} }", doubles({{5}})));
  EXPECT_EQ(hashed.values, ids("transform { hash {} }", ints({{5}}))->values)
      << "a column of numbers and one of integers share rows of a table";
  EXPECT_THAT(numbers("kind: DENSE transform { cast {} }", doubles({{4}})),
              IsOkAndHolds(ElementsAre(4)));
}

// A transform created for one type of number accepts the others.
TEST(FeatureTransformTest, NumbersOfEitherTypeGiveTheSameValues) {
  for (const ValueType type : {ValueType::kInt64, ValueType::kUint64, ValueType::kDouble}) {
    for (const std::string text :
         {"", "transform { cast {} }", "transform { hash {} }",
          "transform { cast {} } transform { hash {} }", "transform { modulo { divisor: 2 } }",
          "transform { bucketize { boundary: 2 } }",
          "transform { unique {} } transform { truncate { count: 1 } }"}) {
      SCOPED_TRACE(text);
      ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, make(text, type));
      EXPECT_EQ(transform.reads_as(), type);
      IdColumn of_ints, of_doubles;
      ASSERT_OK(append(transform, ints({{3, 3}, {}, {1}}), &of_ints));
      ASSERT_OK(append(transform, doubles({{3, 3}, {}, {1}}), &of_doubles));
      EXPECT_EQ(of_ints.values, of_doubles.values);
      EXPECT_EQ(of_ints.offsets, of_doubles.offsets);
    }
    for (const std::string text :
         {"kind: DENSE default_value: 7", "kind: DENSE default_value: 7 transform { log1p {} }",
          "kind: DENSE default_value: 7 transform { modulo { divisor: 2 } }"}) {
      SCOPED_TRACE(text);
      ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, make(text, type));
      std::vector<float> of_ints, of_doubles;
      ASSERT_OK(append(transform, ints({{3}, {}, {1}}), &of_ints));
      ASSERT_OK(append(transform, doubles({{3}, {}, {1}}), &of_doubles));
      EXPECT_EQ(of_ints, of_doubles);
      EXPECT_EQ(of_ints[1], 7);
    }
  }
}

TEST(FeatureTransformTest, LargeIntegersStayWholeWhereOtherFilesHaveDoubles) {
  const int64_t large = (int64_t{1} << 60) + 1;
  for (const std::string text : {"", "transform { cast {} }"}) {
    ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, make(text, ValueType::kDouble));
    IdColumn out;
    ASSERT_OK(append(transform, ints({{large}}), &out));
    ASSERT_OK(append(transform, column<int64_t>(ValueType::kUint64, {{-1}}), &out));
    EXPECT_THAT(out.values, ElementsAre(large, -1)) << text;
  }
}

TEST(FeatureTransformTest, DoublesThatAreNoIntegersAreBadRowsOfIds) {
  for (const std::string text : {"", "kind: GROUP_ID", "transform { hash {} }"}) {
    for (const ValueType type : {ValueType::kInt64, ValueType::kDouble}) {
      ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, make(text, type));
      for (const double wrong : {0.5, 0x1p53, -0x1p60}) {
        IdColumn out;
        EXPECT_THAT(
            append(transform, doubles({{1}, {wrong}}), &out),
            StatusIs(absl::StatusCode::kDataLoss,
                     AllOf(HasSubstr("row 101, column x"), HasSubstr("is no integer below 2^53"))))
            << text;
      }
    }
  }
}

// float32 holds 16777216 for 16777217, too.
TEST(FeatureTransformTest, IdsThatTheFileMayHaveRoundedAreRefused) {
  for (const std::string text :
       {"", "transform { cast {} }", "transform { missing_values { number: -1 } }"}) {
    ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, make(text, ValueType::kDouble));
    Column column = doubles({{16777215}, {16777216}});
    column.exact_integers = 0x1p24;
    BadRows bad(2, /*skip=*/false);
    IdColumn ids;
    EXPECT_THAT(transform.append_ids({.column = column, .place = kPlace, .bad = bad}, &ids),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("16777216: the file stores the column in float32")))
        << text;
    // The list of the second row is bad, also where the feature takes over the column.
    Column lists = doubles({{1}, {2, 16777216}, {3}});
    lists.exact_integers = 0x1p24;
    BadRows skipped(3, /*skip=*/true);
    IdColumn kept;
    EXPECT_OK(transform.append_ids(
        {.column = lists, .place = kPlace, .bad = skipped, .owned = &lists}, &kept))
        << text;
    EXPECT_TRUE(skipped.contains(1)) << text;
    EXPECT_FALSE(skipped.contains(2)) << text;
    column = doubles({{16777215}, {-16777215}});
    column.exact_integers = 0x1p24;
    EXPECT_OK(transform.append_ids({.column = column, .place = kPlace, .bad = bad}, &ids)) << text;
  }
}

TEST(FeatureTransformTest, CastLeavesIntegersAsTheyAre) {
  const int64_t large = (int64_t{1} << 53) + 1;
  EXPECT_THAT(ids("transform { cast {} }", ints({{large}}))->values, ElementsAre(large));
  Column unsigned_ids = ints({{-1}});
  unsigned_ids.type = ValueType::kUint64;
  EXPECT_THAT(ids("transform { cast {} }", unsigned_ids)->values, ElementsAre(-1));
  EXPECT_THAT(numbers("kind: DENSE transform { cast {} }", unsigned_ids),
              IsOkAndHolds(ElementsAre(0x1p64f)));
}

TEST(FeatureTransformTest, CastRefusesWhatIsNoInteger) {
  const auto fails = [](double number, const std::string& what) {
    EXPECT_THAT(ids("transform { cast {} }", doubles({{1}, {1}, {2, number}})),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("f.orc, row 102, column x"), HasSubstr(what))));
  };
  fails(0.5, "0.5 is no integer below 2^53");
  fails(0x1p53, "9007199254740992 is no integer below 2^53");
  fails(-0x1p53, "is no integer below 2^53");
  fails(std::numeric_limits<double>::infinity(), "inf is not a finite number");
  fails(std::nan(""), "is not a finite number");
  BadRows bad(3, /*skip=*/true);
  IdColumn out;
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       make("transform { cast {} }", ValueType::kDouble));
  const Column column = doubles({{1}, {0.5}, {3}});
  ASSERT_OK(transform.append_ids({column, kPlace, bad}, &out));
  EXPECT_EQ(bad.count(), 1);
  EXPECT_TRUE(bad.contains(1));
  EXPECT_THAT(out.values, ElementsAre(1, 0, 3));
}

TEST(FeatureTransformTest, LabelsOfOtherTasksMayBeAnyNumber) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       FeatureTransform::create(feature("kind: LABEL"), ValueType::kDouble,
                                                LabelRange::kAny, test_files()));
  std::vector<float> out;
  ASSERT_OK(append(transform, doubles({{0.5}, {-7}}), &out));
  EXPECT_THAT(out, ElementsAre(0.5, -7));
}

TEST(FeatureTransformTest, LabelsOfACrossEntropyAreProbabilities) {
  const auto create = [](const std::string& text) {
    return FeatureTransform::create(feature("kind: LABEL " + text), ValueType::kDouble,
                                    LabelRange::kProbability, test_files());
  };
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, create(""));
  std::vector<float> out;
  ASSERT_OK(append(transform, doubles({{0}, {0.5}, {1}}), &out));
  EXPECT_THAT(out, ElementsAre(0, 0.5, 1));
  for (const double label : {2.0, -0.25}) {
    EXPECT_THAT(append(transform, doubles({{1}, {label}}), &out),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("row 101, column x: label"), HasSubstr("[0, 1]"))));
  }
  EXPECT_THAT(create("default_value: 3"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                   HasSubstr("default_value 3 is outside [0, 1]")));
}

TEST(FeatureTransformTest, GradesAreNotNegative) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       FeatureTransform::create(feature("kind: LABEL"), ValueType::kDouble,
                                                LabelRange::kNotNegative, test_files()));
  std::vector<float> out;
  ASSERT_OK(append(transform, doubles({{0}, {4.5}}), &out));
  EXPECT_THAT(out, ElementsAre(0, 4.5));
  EXPECT_THAT(append(transform, doubles({{-1}}), &out),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("label -1 is below 0")));
}

TEST(FeatureTransformTest, LabelsThatMayBeMissing) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       make("kind: LABEL missing: MASK", ValueType::kDouble));
  std::vector<float> out;
  ASSERT_OK(append(transform, doubles({{1}, {}, {std::nan("")}, {0}}), &out));
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[0], 1);
  EXPECT_TRUE(std::isnan(out[1])) << "null";
  EXPECT_TRUE(std::isnan(out[2])) << "not a number in the data";
  EXPECT_EQ(out[3], 0);
  // All else that is wrong stays so.
  for (const double label : {0.5, std::numeric_limits<double>::infinity(), 1e300}) {
    EXPECT_EQ(append(transform, doubles({{1}, {}, {label}}), &out).code(),
              absl::StatusCode::kDataLoss)
        << label;
  }
  EXPECT_THAT(append(transform, doubles({{1, 0}}), &out),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("2 values")));
}

TEST(FeatureTransformTest, MissingLabelsAreNotTransformed) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       make("kind: LABEL missing: MASK transform { threshold { at_least: -1 } }",
                            ValueType::kDouble));
  std::vector<float> out;
  ASSERT_OK(append(transform, doubles({{-3}, {std::nan("")}, {}, {5}}), &out));
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[0], 0);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_EQ(out[3], 1);
}

// The error for three rows of numbers, the second of two values, as ids or dense numbers.
std::string error_of_form(const std::string& kind, Break how) {
  break_form() = how;
  const std::string config =
      absl::StrCat("kind: ", kind, " transform { custom { name: 'malformed' } }");
  const Column column = kind == "SPARSE" ? doubles({{1}, {2, 3}, {4}}) : doubles({{1}, {2}, {4}});
  const absl::Status status =
      kind == "SPARSE" ? ids(config, column).status() : numbers(config, column).status();
  if (!status.ok()) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("feature \"x\", transform \"malformed\""));
  }
  return std::string(status.message());
}

TEST(FeatureTransformTest, AResultOfARegisteredTransformBelongsToItsRows) {
  EXPECT_EQ(error_of_form("SPARSE", [](FeatureValues&) {}), "");
  EXPECT_EQ(error_of_form("SPARSE",
                          [](FeatureValues& values) {
                            values.list.weights = {1, 1, 1, 1};
                          }),
            "");
  const std::vector<std::pair<Break, std::string>> wrong = {
      {[](FeatureValues& values) { values.list.rows = 2; }, "2 rows of 3"},
      {[](FeatureValues& values) { values.list.values.pop_back(); }, "offsets up to 4 of 3 values"},
      {[](FeatureValues& values) { values.list.values.push_back(5); },
       "offsets up to 4 of 5 values"},
      {[](FeatureValues& values) {
         values.list.offsets = {0, 2, 1, 4};
       },
       "offsets that decrease"},
      {[](FeatureValues& values) {
         values.list.offsets = {1, 1, 3, 4};
       },
       "offsets from 1 instead of 0"},
      {[](FeatureValues& values) {
         values.list.offsets = {0, 1, 4};
       },
       "3 offsets of 3 rows, instead of 4"},
      {[](FeatureValues& values) { values.list.offsets.clear(); },
       "4 values in 3 rows without offsets"},
      {[](FeatureValues& values) { values.list.weights = {1}; }, "1 weights of 4 values"},
      {[](FeatureValues& values) { values.make_numbers(); }, "numbers instead of integers"}};
  for (const auto& [how, error] : wrong) {
    EXPECT_THAT(error_of_form("SPARSE", how), HasSubstr("its result has " + error));
  }
}

TEST(FeatureTransformTest, ADenseResultOfARegisteredTransformBelongsToItsRows) {
  EXPECT_EQ(error_of_form("DENSE", [](FeatureValues& values) { values.make_numbers(); }), "");
  EXPECT_THAT(error_of_form("DENSE",
                            [](FeatureValues& values) {
                              values.make_numbers();
                              values.numbers.pop_back();
                            }),
              HasSubstr("offsets up to 3 of 2 values"));
  EXPECT_THAT(error_of_form("DENSE",
                            [](FeatureValues& values) {
                              values.list.offsets = {0, 1, 9, 3};
                            }),
              HasSubstr("offsets that decrease"));
}

TEST(FeatureTransformTest, RegisteredTransformsMakeRowsBadByNumbersThatAreNotFinite) {
  const std::string config = "kind: DENSE transform { custom { name: 'reciprocal' } }";
  EXPECT_THAT(
      numbers(config, doubles({{1}, {4}, {0}})),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("f.orc, row 102, column x: feature \"x\", transform \"reciprocal\": "
                         "result inf is not a finite number")));
  // Also where a transform behind it would hide the number.
  EXPECT_THAT(numbers(config + " transform { clip { min: -9 max: 9 } }", doubles({{1}, {-0.0}})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("row 101, column x")));

  BadRows bad(4, /*skip=*/true);
  std::vector<float> out;
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       make(config + " default_value: 7", ValueType::kDouble));
  const Column column = doubles({{}, {2}, {0}, {4}});
  ASSERT_OK(transform.append_numbers({column, kPlace, bad}, &out));
  EXPECT_THAT(out, ElementsAre(7, 0.5, 0, 0.25));
  EXPECT_EQ(bad.count(), 1);
  EXPECT_TRUE(bad.contains(2));
}

TEST(FeatureTransformTest, RegisteredTransformsMayGiveAnythingForMissingLabels) {
  const std::string mask = "kind: LABEL missing: MASK transform { custom { name: '";
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       make(mask + "reciprocal' } }", ValueType::kDouble));
  std::vector<float> out;
  ASSERT_OK(append(transform, doubles({{1}, {std::nan("")}}), &out));
  EXPECT_THAT(out, ElementsAre(1, testing::NanSensitiveFloatEq(std::nanf(""))));
  ASSERT_OK_AND_ASSIGN(const FeatureTransform shorter,
                       make(mask + "omitting' } }", ValueType::kDouble));
  EXPECT_THAT(append(shorter, doubles({{1}, {std::nan("")}}), &out),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("transform \"omitting\""), HasSubstr("missing: MASK"))));
}

TEST(FeatureTransformTest, MissingLabelsOfIntegers) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       make("kind: LABEL missing: MASK", ValueType::kInt64));
  std::vector<float> out;
  ASSERT_OK(append(transform, ints({{1}, {}}), &out));
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0], 1);
  EXPECT_TRUE(std::isnan(out[1]));
}

TEST(FeatureTransformTest, MissingValuesLeadToTheDefault) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(numbers("kind: DENSE default_value: 7 transform { missing_values { number: -1 nan: "
                      "true } } transform { log1p {} }",
                      doubles({{0}, {nan}, {-1}, {}})),
              IsOkAndHolds(ElementsAre(0, 7, 7, 7)));
  EXPECT_THAT(numbers("kind: DENSE transform { missing_values { number: -1 } }", ints({{0}, {-1}})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("row 101, column x: no value")));
  EXPECT_THAT(numbers("kind: DENSE", doubles({{nan}})),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("nan is not a finite number; if it stands for a missing value, "
                                 "put the transform missing_values first")));
  ASSERT_OK_AND_ASSIGN(
      const IdColumn text,
      ids("default_id: 3 transform { missing_values { text: 'NA' } } transform { hash {} }",
          texts({{"NA", "a"}, {"NA"}, {}})));
  EXPECT_THAT(text.values, ElementsAre(static_cast<int64_t>(xxh3("a")), 3, 3));
}

TEST(FeatureTransformTest, MissingLabelsAreMasked) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                       make("kind: LABEL missing: MASK transform { missing_values { number: -1 } } "
                            "transform { threshold { at_least: 4 } }",
                            ValueType::kDouble));
  std::vector<float> out;
  ASSERT_OK(append(transform, doubles({{5}, {-1}, {std::nan("")}, {3}}), &out));
  const auto masked = testing::NanSensitiveFloatEq(std::nanf(""));
  EXPECT_THAT(out, ElementsAre(1, masked, masked, 0));
}

TEST(FeatureTransformTest, MissingIdsLoseTheirWeights) {
  ASSERT_OK_AND_ASSIGN(
      const FeatureTransform transform,
      make("transform { missing_values { number: 0 } } transform { modulo { divisor: 10 } }",
           ValueType::kInt64));
  const Column column = ints({{11, 0, 12}, {0}});
  const Column weights = doubles({{0.5, std::nan(""), 2}, {7}});
  BadRows bad(2, false);
  IdColumn out;
  ASSERT_OK(transform.append_ids({column, kPlace, bad, &weights}, &out));
  EXPECT_THAT(out.values, ElementsAre(1, 2));
  EXPECT_THAT(out.offsets, ElementsAre(0, 2, 2));
  EXPECT_THAT(out.weights, ElementsAre(0.5, 2));
}

TEST(FeatureTransformTest, IsMissingTellsRowsWithoutAValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string removes = "transform { missing_values { nan: true } } ";
  EXPECT_THAT(numbers("kind: DENSE transform { is_missing {} }", doubles({{0}, {}})),
              IsOkAndHolds(ElementsAre(0, 1)));
  EXPECT_THAT(
      numbers("kind: DENSE " + removes + "transform { is_missing {} }", doubles({{nan}, {}, {3}})),
      IsOkAndHolds(ElementsAre(1, 1, 0)));
  ASSERT_OK_AND_ASSIGN(const IdColumn text,
                       ids("default_id: 5 transform { is_missing {} }", texts({{"a", "b"}, {}})));
  EXPECT_THAT(text.values, ElementsAre(0, 1));
  EXPECT_THAT(text.offsets, IsEmpty());
  Column large = ints({{-1}, {}});
  large.type = ValueType::kUint64;
  ASSERT_OK_AND_ASSIGN(const IdColumn is_unsigned, ids("transform { is_missing {} }", large));
  EXPECT_THAT(is_unsigned.values, ElementsAre(0, 1));
}

// For one column of delimited text, a feature of numbers and its companion agree on what is
// missing.
TEST(FeatureTransformTest, DelimitedTextMissesTheSameValuesWhateverIsMadeOfIt) {
  const Column cells = texts({{"1"}, {"NA"}, {" NA"}, {" "}, {}, {"2 "}});
  const auto result = [&](const std::string& text) {
    const absl::StatusOr<FeatureTransform> transform =
        make("kind: DENSE " + text, ValueType::kText);
    EXPECT_OK(transform);
    EXPECT_EQ(transform->reads_as(), ValueType::kString);
    std::vector<float> out;
    EXPECT_OK(append(*transform, cells, &out));
    return out;
  };
  const std::string removes = "transform { missing_values { text: 'NA' } } ";
  EXPECT_THAT(result(removes + "default_value: -5"), ElementsAre(1, -5, -5, -5, -5, 2));
  EXPECT_THAT(result(removes + "transform { is_missing {} }"), ElementsAre(0, 1, 1, 1, 1, 0));
  EXPECT_THAT(result("transform { is_missing {} }"), ElementsAre(0, 0, 0, 1, 1, 0));
}

// The rows in which the feature without its default has no value.
TEST(FeatureTransformTest, TellsWhereAFeatureHasNoValue) {
  const double nan = std::nan("");
  const struct {
    std::string feature;
    ValueType type;
    Column column;
    std::vector<float> missing;
  } cases[] = {
      {"default_id: 5", ValueType::kInt64, ints({{1, 2}, {}}), {0, 1}},
      {"default_id: 5 transform { missing_values { number: 1 } } transform { modulo { divisor: 3 } "
       "}",
       ValueType::kInt64,
       ints({{1, 2}, {1}}),
       {0, 1}},
      {"kind: DENSE default_value: 7 transform { missing_values { nan: true } } transform { log1p "
       "{} }",
       ValueType::kDouble,
       doubles({{0}, {nan}, {}}),
       {0, 1, 1}},
      {"default_id: 5 transform { vocabulary { path: '/words' } }",
       ValueType::kString,
       texts({{"red"}, {"blue"}, {}}),
       {0, 0, 1}},
      // Cells of delimited text.
      {"kind: DENSE default_value: 7 transform { missing_values { text: 'NA' } }",
       ValueType::kText,
       texts({{"0"}, {"NA"}, {" NA"}, {" "}, {}}),
       {0, 1, 1, 1, 1}},
      {"transform { missing_values { text: 'NA' nan: true } } transform { hash {} }",
       ValueType::kText,
       texts({{"a"}, {"NA"}, {" NA"}, {" "}, {}}),
       {0, 1, 0, 0, 1}},
      {"transform { missing_values { text: ' NA' } } transform { hash {} }",
       ValueType::kText,
       texts({{"a"}, {"NA"}, {" NA"}}),
       {0, 0, 1}},
      {"transform { hash {} }", ValueType::kText, texts({{"a"}, {" "}, {}}), {0, 0, 1}},
  };
  for (const auto& [text, type, column, missing] : cases) {
    SCOPED_TRACE(text);
    ASSERT_OK_AND_ASSIGN(const FeatureTransform own, make(text, type));
    ASSERT_OK_AND_ASSIGN(const FeatureTransform transform,
                         FeatureTransform::create_is_missing(feature(text), type));
    EXPECT_EQ(transform.reads_as(), own.reads_as());
    EXPECT_FALSE(transform.distinguishes_text());
    std::vector<float> out;
    ASSERT_OK(append(transform, column, &out));
    EXPECT_EQ(out, missing);
  }
}

TEST(FeatureTransformTest, SingleIds) {
  ASSERT_OK_AND_ASSIGN(const FeatureTransform transform, make("kind: GROUP_ID", ValueType::kInt64));
  std::vector<int64_t> out;
  ASSERT_OK(append(transform, ints({{4}, {5}}), &out));
  EXPECT_THAT(out, ElementsAre(4, 5));
  EXPECT_THAT(append(transform, ints({{4}, {}}), &out),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("row 101, column x: no value")));
  EXPECT_THAT(append(transform, ints({{4, 5}}), &out),
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
  fails("transform { clip { max: 1 } }", ValueType::kDouble,
        "add the transform cast if they are ids stored as numbers");
  fails("transform { clip { max: 1 } } transform { hash {} }", ValueType::kDouble,
        "hash needs text or integers and gets numbers; if they are ids stored as numbers, put the "
        "transform cast before it");
  fails("transform { cast {} }", ValueType::kString, "cast needs numbers and gets text");
  fails("transform { modulo { divisor: 3 } }", ValueType::kString, "modulo needs integers");
  fails("transform { missing_values { number: -1 } } transform { hash {} }", ValueType::kText,
        "missing_values: number is given and the values are text");
  fails("kind: DENSE transform { missing_values { text: 'a' } }", ValueType::kDouble,
        "missing_values: text is given and the column holds numbers");
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
  fails("transform { modulo {} }", "transform[0].modulo: divisor is 0; must be at least 1");
  fails("transform { bucketize { boundary: [1, 1] } }", "increase strictly");
  fails("transform { bucketize { boundary: nan } }", "boundary[0] is not a number");
  fails("transform { bucketize {} }", "transform[0].bucketize: boundary is missing");
  fails("kind: DENSE transform { clip { min: 2 max: 1 } }", "min 2 is above max 1");
  fails("transform { hash { function: FARM_HASH seed: 1 } }", "takes no seed");
  fails("kind: LABEL transform { threshold {} }", "at_least is missing");
  fails("kind: LABEL transform { threshold { at_least: nan } }", "at_least is not a number");
  fails("transform {}", "says not which transform");
  fails("transform { multi_hash { count: 3 } }", "divisor is 0; must be 1 to 2^57");
  fails("transform { multi_hash { divisor: 5 function: FARM_HASH } }", "FARM_HASH");
  fails("transform { truncate {} }", "count is 0; must be at least 1");
  fails("transform { vocabulary { path: '/words' other_ids: -1 } }", "other_ids");
  fails("default_value: 1", "write default_id");
  fails("kind: DENSE default_id: 1", "write default_value");
  fails("kind: DENSE default_value: inf", "finite");
  fails("kind: LABEL default_value: 2", "default_value 2 of a binary task is neither 0 nor 1");
}

TEST(FeatureTransformTest, DelimitedTextIsReadAsTheFeatureNeeds) {
  auto reads = [](const std::string& text) { return make(text, ValueType::kText)->reads_as(); };
  EXPECT_EQ(reads(""), ValueType::kInt64);
  EXPECT_EQ(reads("transform { cast {} }"), ValueType::kDouble);
  EXPECT_EQ(reads("kind: DENSE"), ValueType::kDouble);
  EXPECT_EQ(reads("transform { hash {} }"), ValueType::kString);
  EXPECT_EQ(reads("transform { modulo { divisor: 2 } }"), ValueType::kInt64);
  const std::string number = "transform { missing_values { number: -1 } } ";
  EXPECT_EQ(reads(number), ValueType::kInt64);
  EXPECT_EQ(reads("kind: DENSE " + number), ValueType::kDouble);
  EXPECT_EQ(reads(number + "transform { is_missing {} }"), ValueType::kDouble);
  EXPECT_EQ(reads("transform { missing_values { text: '-' } }"), ValueType::kString);
  EXPECT_EQ(reads("transform { is_missing {} }"), ValueType::kString);
  EXPECT_EQ(reads("transform { bucketize { boundary: 2 } }"), ValueType::kDouble);
  EXPECT_EQ(reads("kind: LABEL transform { threshold { at_least: 2 } }"), ValueType::kDouble);
}

}  // namespace
}  // namespace millrace
