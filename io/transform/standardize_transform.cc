#include "io/transform/standardize_transform.h"

namespace millrace {
namespace {

class Standardize : public Transform {
 public:
  Standardize(double mean, double standard_deviation)
      : mean_(mean), standard_deviation_(standard_deviation) {}

  Takes takes() const override { return Takes::kNumbers; }
  ValueType gives(ValueType) const override { return ValueType::kDouble; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    values->make_numbers();
    // A division, not a product with the reciprocal, so that the result is the nearest number.
    for (double& x : values->numbers) x = (x - mean_) / standard_deviation_;
    return absl::OkStatus();
  }

 private:
  const double mean_;
  const double standard_deviation_;
};

}  // namespace

std::unique_ptr<Transform> make_standardize_transform(const StandardizeTransform& config) {
  return std::make_unique<Standardize>(config.mean(), config.standard_deviation());
}

}  // namespace millrace
