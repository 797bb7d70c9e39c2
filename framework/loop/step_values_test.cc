#include "framework/loop/step_values.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace millrace {
namespace {

at::Tensor number(double value) { return at::scalar_tensor(value); }

TEST(StepValuesTest, OneValueStaysAsItIs) {
  const at::Tensor value = number(3).set_requires_grad(true);
  const std::vector<StepValue> values = step_values({{"a", value * 1}});
  ASSERT_EQ(values.size(), 1);
  EXPECT_EQ(values[0].name, "a");
  EXPECT_EQ(values[0].value.item<double>(), 3);
  EXPECT_FALSE(values[0].value.requires_grad());
  EXPECT_EQ(values[0].reduction, Reduction::kMean);
  EXPECT_FALSE(values[0].weight.defined());
}

TEST(StepValuesTest, EachReduction) {
  std::vector<NamedValue> reported;
  for (const double value : {2.0, 6.0, 1.0}) {
    reported.push_back({"mean", number(value)});
    reported.push_back({"sum", number(value), Reduction::kSum});
    reported.push_back({"min", number(value), Reduction::kMin});
    reported.push_back({"max", number(value), Reduction::kMax});
    reported.push_back({"last", number(value), Reduction::kLast});
  }
  const std::vector<StepValue> values = step_values(reported);
  ASSERT_EQ(values.size(), 5);
  EXPECT_EQ(values[0].value.item<double>(), 3);
  EXPECT_EQ(values[0].weight.item<double>(), 3) << "of three micro-batches";
  EXPECT_EQ(values[1].value.item<double>(), 9);
  EXPECT_EQ(values[2].value.item<double>(), 1);
  EXPECT_EQ(values[3].value.item<double>(), 6);
  EXPECT_EQ(values[4].value.item<double>(), 1);
}

TEST(StepValuesTest, MeansAreWeighted) {
  const std::vector<StepValue> values =
      step_values({{"a", number(1), Reduction::kMean, number(1)},
                   {"a", number(5), Reduction::kMean, number(3)},
                   {"a", number(std::nan("")), Reduction::kMean, number(0)}});
  ASSERT_EQ(values.size(), 1);
  EXPECT_EQ(values[0].value.item<double>(), 4);
  EXPECT_EQ(values[0].weight.item<double>(), 4);
}

TEST(StepValuesTest, AMeanOfNothingIsNotANumber) {
  const NamedValue none{"a", number(7), Reduction::kMean, number(0)};
  const std::vector<StepValue> values = step_values({none, none});
  EXPECT_TRUE(std::isnan(values[0].value.item<double>()));
  EXPECT_EQ(values[0].weight.item<double>(), 0);
}

TEST(StepValuesTest, NotANumberIsAsInTheReport) {
  const at::Tensor none = number(std::numeric_limits<double>::quiet_NaN());
  for (const Reduction reduction : {Reduction::kMean, Reduction::kMin, Reduction::kMax}) {
    const std::vector<StepValue> values =
        step_values({{"a", none, reduction}, {"a", number(1), reduction}});
    EXPECT_TRUE(std::isnan(values[0].value.item<double>())) << reduction_name(reduction);
  }
}

}  // namespace
}  // namespace millrace
