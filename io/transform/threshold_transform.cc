#include "io/transform/threshold_transform.h"

namespace millrace {
namespace {

class Threshold : public Transform {
 public:
  explicit Threshold(double at_least) : at_least_(at_least) {}

  Takes takes() const override { return Takes::kNumbers; }
  ValueType gives(ValueType) const override { return ValueType::kDouble; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    values->make_numbers();
    for (double& x : values->numbers) x = x >= at_least_ ? 1 : 0;
    return absl::OkStatus();
  }

 private:
  const double at_least_;
};

}  // namespace

std::unique_ptr<Transform> make_threshold_transform(const ThresholdTransform& config) {
  return std::make_unique<Threshold>(config.at_least());
}

}  // namespace millrace
