// A transform of the values of a feature.
#include <cmath>

#include "io/transform/transform_registry.h"

namespace millrace {
namespace {

// x → sign(x) × √|x|
class SquareRootTransform : public Transform {
 public:
  static absl::StatusOr<std::unique_ptr<Transform>> create(const CustomConfig&) {
    return std::make_unique<SquareRootTransform>();
  }

  Takes takes() const override { return Takes::kNumbers; }
  ValueType gives(ValueType) const override { return ValueType::kDouble; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    values->make_numbers();
    for (double& number : values->numbers) {
      number = std::copysign(std::sqrt(std::fabs(number)), number);
    }
    return absl::OkStatus();
  }
};

MILLRACE_REGISTER_TRANSFORM(square_root, "square root of numbers", &SquareRootTransform::create);

}  // namespace
}  // namespace millrace
