#include "io/transform/bucketize_transform.h"

#include <algorithm>
#include <vector>

namespace millrace {
namespace {

class Bucketize : public Transform {
 public:
  explicit Bucketize(const BucketizeTransform& config)
      : boundaries_(config.boundary().begin(), config.boundary().end()) {}

  Takes takes() const override { return Takes::kNumbers; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    values->make_numbers();
    const std::vector<double>& numbers = values->numbers;
    const absl::Span<int64_t> ids = values->make_ids(static_cast<int64_t>(numbers.size()));
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = std::upper_bound(boundaries_.begin(), boundaries_.end(), numbers[i]) -
               boundaries_.begin();
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<double> boundaries_;
};

}  // namespace

std::unique_ptr<Transform> make_bucketize_transform(const BucketizeTransform& config) {
  return std::make_unique<Bucketize>(config);
}

}  // namespace millrace
