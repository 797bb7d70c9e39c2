#include "io/transform/clip_transform.h"

#include <algorithm>

namespace millrace {
namespace {

class Clip : public Transform {
 public:
  Clip(double min, double max) : min_(min), max_(max) {}

  Takes takes() const override { return Takes::kNumbers; }
  ValueType gives(ValueType) const override { return ValueType::kDouble; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    values->make_numbers();
    for (double& x : values->numbers) x = std::clamp(x, min_, max_);
    return absl::OkStatus();
  }

 private:
  const double min_;
  const double max_;
};

}  // namespace

std::unique_ptr<Transform> make_clip_transform(const ClipTransform& config) {
  return std::make_unique<Clip>(config.min(), config.max());
}

}  // namespace millrace
