#include "io/transform/number_transforms.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "io/exact_integer.h"
#include "io/transform/kernels/log1p_kernels.h"

namespace millrace {
namespace {

class Cast : public Transform {
 public:
  Takes takes() const override { return Takes::kNumbers; }
  ValueType gives(ValueType in) const override {
    return in == ValueType::kUint64 ? in : ValueType::kInt64;
  }

  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    if (values->are_ids) return absl::OkStatus();
    const absl::Span<int64_t> ids = values->make_ids(static_cast<int64_t>(values->numbers.size()));
    const IdColumn& list = values->list;
    for (int64_t row = 0; row < list.rows; ++row) {
      for (int64_t i = list.begin(row); i < list.end(row); ++i) {
        const double number = values->numbers[i];
        const bool exact = is_exact_integer(number);
        ids[i] = exact ? static_cast<int64_t>(number) : 0;
        if (exact || input.bad.contains(row)) continue;
        RETURN_IF_ERROR(input.bad.add(
            row,
            input.place.error(row, absl::StrFormat("%.17g is no integer below 2^53, as ids are; "
                                                   "the transform bucketize makes ids of ranges",
                                                   number))));
      }
    }
    return absl::OkStatus();
  }
};

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

class SignedLog1pTransform : public Transform {
 public:
  Takes takes() const override { return Takes::kNumbers; }
  ValueType gives(ValueType) const override { return ValueType::kDouble; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    static const SignedLog1p kernel = signed_log1p_kernel(best_instruction_set());
    values->make_numbers();
    kernel(values->numbers.data(), static_cast<int64_t>(values->numbers.size()));
    return absl::OkStatus();
  }
};

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

std::unique_ptr<Transform> make_cast_transform() { return std::make_unique<Cast>(); }

std::unique_ptr<Transform> make_clip_transform(const ClipTransform& config) {
  return std::make_unique<Clip>(config.min(), config.max());
}

std::unique_ptr<Transform> make_log1p_transform() {
  return std::make_unique<SignedLog1pTransform>();
}

std::unique_ptr<Transform> make_standardize_transform(const StandardizeTransform& config) {
  return std::make_unique<Standardize>(config.mean(), config.standard_deviation());
}

std::unique_ptr<Transform> make_threshold_transform(const ThresholdTransform& config) {
  return std::make_unique<Threshold>(config.at_least());
}

std::unique_ptr<Transform> make_bucketize_transform(const BucketizeTransform& config) {
  return std::make_unique<Bucketize>(config);
}

}  // namespace millrace
