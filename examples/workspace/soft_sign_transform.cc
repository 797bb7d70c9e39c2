// A transform of the values of a feature.
#include <cmath>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/transform/transform_registry.h"

namespace visits {
namespace {

// x → x / (1 + |x|)
class SoftSignTransform : public millrace::Transform {
 public:
  static absl::StatusOr<std::unique_ptr<millrace::Transform>> create(
      const millrace::CustomConfig&) {
    return std::make_unique<SoftSignTransform>();
  }

  Takes takes() const override { return Takes::kNumbers; }

  millrace::ValueType gives(millrace::ValueType) const override {
    return millrace::ValueType::kDouble;
  }

  absl::Status apply(const millrace::FeatureInput&,
                     millrace::FeatureValues* values) const override {
    values->make_numbers();
    for (double& number : values->numbers) number /= 1 + std::fabs(number);
    return absl::OkStatus();
  }
};

MILLRACE_REGISTER_TRANSFORM(soft_sign, "brings numbers between -1 and 1",
                            &SoftSignTransform::create);

}  // namespace
}  // namespace visits
