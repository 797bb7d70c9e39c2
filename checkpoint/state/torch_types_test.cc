#include "checkpoint/state/torch_types.h"

#include <ATen/ATen.h>

#include "base/status_matchers.h"
#include "checkpoint/state/savable_type.h"

namespace millrace {
namespace {

using testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(TorchTypesTest, EveryTypeThatLibTorchHasComesBackWithItsSize) {
  int both = 0;
  for (int i = 0; i < static_cast<int>(at::ScalarType::NumOptions); ++i) {
    const auto scalar = static_cast<at::ScalarType>(i);
    const auto type = tensor_type_of(scalar);
    if (!type.has_value()) continue;
    EXPECT_EQ(scalar_type_of(*type), scalar);
    EXPECT_EQ(tensor_type_bytes(*type), static_cast<int64_t>(at::elementSize(scalar)));
    ++both;
  }
  EXPECT_EQ(both, 10);
  EXPECT_EQ(tensor_type_of(at::kHalf), TensorType::kF16);
  EXPECT_EQ(tensor_type_of(at::kBFloat16), TensorType::kBf16);
}

TEST(TorchTypesTest, SomeTypesAreOfOneSideAlone) {
  EXPECT_EQ(tensor_type_of(at::kComplexFloat), std::nullopt);
  EXPECT_EQ(tensor_type_of(at::kQInt8), std::nullopt);
  for (const TensorType type : {TensorType::kU16, TensorType::kU32, TensorType::kU64}) {
    EXPECT_EQ(scalar_type_of(type), std::nullopt);
  }
}

TEST(TorchTypesTest, WhatCannotBeSavedIsNamed) {
  EXPECT_THAT(savable_type({"a", at::zeros({2}, at::kBFloat16)}), IsOkAndHolds(TensorType::kBf16));
  // Strides are ignored.
  EXPECT_OK(savable_type({"a", at::zeros({2, 3}).t()}).status());
  EXPECT_THAT(savable_type({"b", at::Tensor()}), StatusIs(kInvalid, HasSubstr("\"b\"")));
  EXPECT_THAT(savable_type({"c", at::zeros({2}, at::kComplexFloat)}),
              StatusIs(kInvalid, AllOf(HasSubstr("\"c\""), HasSubstr("ComplexFloat"))));
  EXPECT_THAT(savable_type({"d", at::eye(2).to_sparse()}),
              StatusIs(kInvalid, AllOf(HasSubstr("\"d\""), HasSubstr("no dense tensor"))));
  EXPECT_THAT(savable_type({"e", at::empty({2}, at::TensorOptions().device(at::kMeta))}),
              StatusIs(kInvalid, AllOf(HasSubstr("\"e\""), HasSubstr("CPU"))));
}

}  // namespace
}  // namespace millrace
