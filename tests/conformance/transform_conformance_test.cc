// Checks the promises of transforms for each kind of TransformConfig, and that the suite finds a
// transform that breaks one.

#include "tests/conformance/transform_conformance.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>

#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/transform/transform_registry.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// Returns the files of the suite: a vocabulary.
FileSystem& files() {
  static MemoryFileSystem files;
  static const bool written = [] {
    EXPECT_OK(write_file_atomically(files, "words", "red\n12\na\n"));
    return true;
  }();
  EXPECT_TRUE(written);
  return files;
}

struct Case {
  const char* name;
  const char* text;
};

const Case kCases[] = {
    {"Hash", "hash {}"},
    {"HashByFarmHash", "hash { function: FARM_HASH }"},
    {"HashByMurmurHash", "hash { function: MURMUR_HASH seed: 7 }"},
    {"Modulo", "modulo { divisor: 10 }"},
    {"Bucketize", "bucketize { boundary: [-1, 0.5, 100] }"},
    {"Log1p", "log1p {}"},
    {"Clip", "clip { min: -2 max: 2 }"},
    {"Threshold", "threshold { at_least: 1 }"},
    {"MultiHash", "multi_hash { count: 3 divisor: 100 }"},
    {"Cross", "cross { feature: 'other' }"},
    {"TruncateToTheFirst", "truncate { count: 2 }"},
    {"TruncateToTheLast", "truncate { count: 1 keep: LAST }"},
    {"Unique", "unique {}"},
    {"Vocabulary", "vocabulary { path: 'words' }"},
    {"VocabularyWithOtherIds", "vocabulary { path: 'words' other_ids: 5 }"},
    {"Cast", "cast {}"},
    {"Standardize", "standardize { mean: -3 standard_deviation: 0.25 }"},
    {"IsMissing", "is_missing {}"},
};

TransformConfig parsed(const char* text) {
  TransformConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

[[maybe_unused]] const bool kEachKind = [] {
  for (const Case& one : kCases) {
    register_transform_conformance(
        one.name,
        {.make = [&one] { return *create_transform(parsed(one.text), 0); }, .files = &files});
  }
  return true;
}();

TEST(TransformConformanceTest, EachKindIsTested) {
  // missing_values is no Transform; io/transform/missing/ tests it.
  std::set<int> tested = {TransformConfig::kCustom, TransformConfig::kMissingValues};
  for (const Case& one : kCases) tested.insert(parsed(one.text).kind_case());
  const auto* kinds = TransformConfig::descriptor()->FindOneofByName("kind");
  for (int i = 0; i < kinds->field_count(); ++i) {
    EXPECT_EQ(tested.count(kinds->field(i)->number()), 1) << kinds->field(i)->name();
  }
}

// The square root of numbers, with a fault chosen by a test.
class FaultyTransform : public Transform {
 public:
  enum class Fault {
    kNone,
    kGivesIds,
    kDropsValues,
    kDropsRows,
    kGivesNotANumber,
    kSeesOtherRows,
    kNeedsARow,
    kCountsCalls,
    kFailsWhereItMaySkip,
    kNamesNoFile,
  };
  explicit FaultyTransform(Fault fault) : fault_(fault) {}

  Takes takes() const override { return Takes::kNumbers; }
  ValueType gives(ValueType) const override {
    return fault_ == Fault::kGivesIds ? ValueType::kInt64 : ValueType::kDouble;
  }

  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    values->make_numbers();
    IdColumn& list = values->list;
    std::vector<double>& numbers = values->numbers;
    double scale = 1;
    if (fault_ == Fault::kSeesOtherRows) scale = 1.0 / static_cast<double>(list.rows + 1);
    if (fault_ == Fault::kCountsCalls) scale = ++calls_;
    if (fault_ == Fault::kNeedsARow && list.rows == 0) return absl::InternalError("no rows");
    for (int64_t row = 0; row < list.rows; ++row) {
      for (int64_t i = list.begin(row); i < list.end(row); ++i) {
        if (numbers[i] < 0 && fault_ != Fault::kGivesNotANumber) {
          RETURN_IF_ERROR(report(input, row));
          numbers[i] = 0;
        }
        numbers[i] = std::sqrt(numbers[i]) * scale;
      }
    }
    if (fault_ == Fault::kDropsValues && !numbers.empty()) numbers.pop_back();
    if (fault_ == Fault::kDropsRows && list.rows > 1) --list.rows;
    return absl::OkStatus();
  }

 private:
  absl::Status report(const FeatureInput& input, int64_t row) const {
    const absl::Status error = input.place.error(row, "a number below 0 has no square root");
    if (fault_ == Fault::kFailsWhereItMaySkip) return error;
    if (fault_ == Fault::kNamesNoFile) return input.bad.add(row, absl::DataLossError("below 0"));
    return input.bad.add(row, error);
  }

  const Fault fault_;
  mutable std::atomic<int> calls_ = 0;
};

std::vector<std::string> failing(FaultyTransform::Fault fault) {
  return failing_properties(
      transform_properties({.make = [=] { return std::make_unique<FaultyTransform>(fault); }}));
}

TEST(TransformConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultyTransform::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kGivesIds), ElementsAre("GivesTheTypeThatItSays"));
  EXPECT_THAT(failing(Fault::kDropsValues), Contains("KeepsRowsAndOffsetsValid"));
  EXPECT_THAT(failing(Fault::kDropsRows), Contains("KeepsRowsAndOffsetsValid"));
  EXPECT_THAT(failing(Fault::kGivesNotANumber), Contains("GivesFiniteNumbers"));
  EXPECT_THAT(failing(Fault::kSeesOtherRows), ElementsAre("DoesNotDependOnCuts"));
  EXPECT_THAT(failing(Fault::kNeedsARow), ElementsAre("TakesNoRows"));
  EXPECT_THAT(failing(Fault::kCountsCalls),
              IsSupersetOf({"IsTheSameAtEveryCall", "IsTheSameOnSeveralThreads"}));
  EXPECT_THAT(failing(Fault::kFailsWhereItMaySkip), Contains("ReportsBadRows"));
  EXPECT_THAT(failing(Fault::kNamesNoFile), ElementsAre("ReportsBadRows"));
}

}  // namespace
}  // namespace millrace
