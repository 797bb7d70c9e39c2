// Checks the conformance of each kind of InitializerConfig, and that the suite detects a faulty
// initializer.

#include "embedding/rows/initializer_conformance.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <utility>

#include "base/hash.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "embedding/rows/initializer.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Adapts a built-in kind to the interface of custom initializers.
class BuiltIn : public RowInitializer {
 public:
  explicit BuiltIn(Initializer initializer) : initializer_(std::move(initializer)) {}
  void fill(int64_t id, absl::Span<float> row) const override { initializer_.fill(id, row); }

 private:
  const Initializer initializer_;
};

InitializerConformance of(const char* text, bool random = true) {
  return {.make =
              [text](const RowInitializerInput& input) {
                InitializerOptions options;
                EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &options.config));
                options.table = input.table;
                options.seed = input.seed;
                options.dim = input.dim;
                absl::StatusOr<Initializer> initializer = Initializer::create(options);
                EXPECT_OK(initializer);
                return std::make_unique<BuiltIn>(*std::move(initializer));
              },
          .random = random};
}

[[maybe_unused]] const bool kDefault = register_initializer_conformance("Default", of(""));
[[maybe_unused]] const bool kConstant =
    register_initializer_conformance("Constant", of("constant { value: 0.5 }", /*random=*/false));
[[maybe_unused]] const bool kUniform =
    register_initializer_conformance("Uniform", of("uniform { low: -2 high: 1 }"));
[[maybe_unused]] const bool kNormal =
    register_initializer_conformance("Normal", of("normal { mean: 1 stddev: 3 }"));
[[maybe_unused]] const bool kTruncatedNormal =
    register_initializer_conformance("TruncatedNormal", of("truncated_normal { stddev: 0.1 }"));
[[maybe_unused]] const bool kXavier = register_initializer_conformance("Xavier", of("xavier {}"));
[[maybe_unused]] const bool kKaiming =
    register_initializer_conformance("Kaiming", of("kaiming { distribution: NORMAL }"));

// Uniform values, with an optional fault.
class FaultyInitializer : public RowInitializer {
 public:
  enum class Fault {
    kNone,
    kOmitsTheLast,
    kNotFinite,
    kWritesWholeRows,
    kCountsCalls,
    kDependsOnTheSize,
    kIgnoresTheTable,
    kIgnoresTheSeed,
    kIgnoresLowBits,
  };
  FaultyInitializer(Fault fault, const RowInitializerInput& input)
      : fault_(fault),
        dim_(input.dim),
        key_(xxh3(fault == Fault::kIgnoresTheTable ? "" : input.table,
                  fault == Fault::kIgnoresTheSeed ? 0 : input.seed)) {}

  void fill(int64_t id, absl::Span<float> row) const override {
    if (fault_ == Fault::kIgnoresLowBits) id &= ~int64_t{1};
    uint64_t stream = static_cast<uint64_t>(id);
    if (fault_ == Fault::kCountsCalls) stream = static_cast<uint64_t>(++calls_);
    size_t columns = row.size();
    if (fault_ == Fault::kOmitsTheLast && columns > 0) --columns;
    for (size_t c = 0; c < columns; ++c) {
      row[c] = uniform24(philox(key_, stream, c)[0]);
      if (fault_ == Fault::kDependsOnTheSize) row[c] /= static_cast<float>(row.size());
    }
    if (fault_ == Fault::kNotFinite && id == std::numeric_limits<int64_t>::min()) {
      row[0] = std::numeric_limits<float>::infinity();
    }
    // Only for the id whose rows the suite places within a larger array.
    if (fault_ == Fault::kWritesWholeRows && id == 5 && columns + 1 == static_cast<size_t>(dim_)) {
      row.data()[columns] = 0;
    }
  }

 private:
  const Fault fault_;
  const int64_t dim_;
  const uint64_t key_;
  mutable std::atomic<int64_t> calls_ = 0;
};

std::vector<std::string> failing(FaultyInitializer::Fault fault) {
  return failing_properties(initializer_properties({.make = [=](const RowInitializerInput& input) {
    return std::make_unique<FaultyInitializer>(fault, input);
  }}));
}

TEST(InitializerConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultyInitializer::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kOmitsTheLast), testing::Contains("SetsEveryColumnToAFiniteValue"));
  EXPECT_THAT(failing(Fault::kNotFinite), ElementsAre("SetsEveryColumnToAFiniteValue"));
  EXPECT_THAT(failing(Fault::kWritesWholeRows), ElementsAre("WritesTheRowAlone"));
  EXPECT_THAT(failing(Fault::kCountsCalls),
              testing::IsSupersetOf({"IsTheSameAtEveryCall", "IsTheSameOnSeveralThreads"}));
  EXPECT_THAT(failing(Fault::kDependsOnTheSize), ElementsAre("ShortRowsBeginLongOnes"));
  EXPECT_THAT(failing(Fault::kIgnoresTheTable), ElementsAre("DependsOnTheTable"));
  EXPECT_THAT(failing(Fault::kIgnoresTheSeed), ElementsAre("DependsOnTheSeed"));
  EXPECT_THAT(failing(Fault::kIgnoresLowBits), ElementsAre("DependsOnTheId"));
}

TEST(InitializerConformanceTest, EqualRowsMustBeSaidToBe) {
  EXPECT_THAT(failing_properties(initializer_properties(of("constant { value: 0.5 }"))),
              ElementsAre("DependsOnTheTable", "DependsOnTheSeed", "DependsOnTheId"));
}

}  // namespace
}  // namespace millrace
