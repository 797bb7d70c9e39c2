#include "metrics/metric_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "metrics/saved_metric.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The mean prediction, which breaks one promise if told to.
class FaultyMetric : public Metric {
 public:
  enum class Fault {
    kNone,
    kNoName,
    kDefinedWhenEmpty,
    kMeanOfBatches,
    kComputeChanges,
    kForgetsOnMerge,
    kKeepsOnReset,
    kSavesLess,
    kSavesNothing,
    kTakesAnyBytes,
    kIgnoresWeights,
    kSkipsNotANumber,
    kForgetsSavedNotANumber,
  };
  explicit FaultyMetric(Fault fault) : fault_(fault) {}

  absl::string_view name() const override { return fault_ == Fault::kNoName ? "" : "faulty"; }
  void update(const MetricInput& input) override {
    if (fault_ == Fault::kMeanOfBatches && !input.predictions.empty()) {
      sum_ += input.predictions[0];
      weight_ += 1;
      return;
    }
    for (size_t i = 0; i < input.predictions.size(); ++i) {
      const double weight = fault_ == Fault::kIgnoresWeights ? 1 : input.weight(i);
      if (weight == 0) continue;
      if (fault_ == Fault::kSkipsNotANumber && std::isnan(input.predictions[i])) continue;
      sum_ += weight * input.predictions[i];
      weight_ += weight;
    }
  }
  double compute() const override {
    if (fault_ == Fault::kDefinedWhenEmpty && weight_ == 0) return 0;
    const double mean = weight_ == 0 ? std::numeric_limits<double>::quiet_NaN() : sum_ / weight_;
    if (fault_ == Fault::kComputeChanges) sum_ *= 1.001;
    return mean;
  }
  void reset() override {
    if (fault_ == Fault::kKeepsOnReset) return;
    sum_ = weight_ = 0;
  }
  void merge(const Metric& other) override {
    const auto& from = static_cast<const FaultyMetric&>(other);
    if (fault_ == Fault::kForgetsOnMerge) sum_ = weight_ = 0;
    sum_ += from.sum_;
    weight_ += from.weight_;
  }
  std::string save() const override {
    if (fault_ == Fault::kSavesNothing) return "";
    if (fault_ == Fault::kSavesLess) return save_sums("faulty", {std::floor(sum_), weight_});
    if (fault_ == Fault::kForgetsSavedNotANumber && std::isnan(sum_)) {
      return save_sums("faulty", {0, 0});
    }
    return save_sums("faulty", {sum_, weight_});
  }
  absl::Status merge_saved(absl::string_view bytes) override {
    const absl::Status status = merge_saved_sums("faulty", bytes, {&sum_, &weight_});
    return fault_ == Fault::kTakesAnyBytes ? absl::OkStatus() : status;
  }

 private:
  const Fault fault_;
  mutable double sum_ = 0;
  double weight_ = 0;
};

std::vector<std::string> failing(FaultyMetric::Fault fault) {
  return failing_properties(
      metric_properties([=] { return std::make_unique<FaultyMetric>(fault); }));
}

TEST(MetricConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultyMetric::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kNoName), ElementsAre("HasAName"));
  EXPECT_THAT(failing(Fault::kDefinedWhenEmpty), Contains("IsUndefinedWithoutExamples"));
  EXPECT_THAT(failing(Fault::kMeanOfBatches), Contains("DoesNotDependOnCuts"));
  EXPECT_THAT(failing(Fault::kComputeChanges), Contains("ComputeChangesNothing"));
  EXPECT_THAT(failing(Fault::kForgetsOnMerge), Contains("MergesLikeOnePass"));
  EXPECT_THAT(failing(Fault::kKeepsOnReset), ElementsAre("IsNewAfterReset"));
  EXPECT_THAT(failing(Fault::kSavesLess), Contains("ContinuesFromSavedBytes"));
  EXPECT_THAT(failing(Fault::kSavesNothing), Contains("RefusesDamagedBytes"));
  EXPECT_THAT(failing(Fault::kTakesAnyBytes), ElementsAre("RefusesDamagedBytes"));
  EXPECT_THAT(failing(Fault::kIgnoresWeights), ElementsAre("CountsExamplesByWeight"));
  EXPECT_THAT(failing(Fault::kSkipsNotANumber), Contains("KeepsNotANumber"));
  EXPECT_THAT(failing(Fault::kForgetsSavedNotANumber), ElementsAre("KeepsSavedNotANumber"));
}

}  // namespace
}  // namespace millrace
