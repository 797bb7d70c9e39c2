#include "io/transform/log1p_transform.h"

#include "io/transform/kernels/log1p_kernels.h"

namespace millrace {
namespace {

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

}  // namespace

std::unique_ptr<Transform> make_log1p_transform() {
  return std::make_unique<SignedLog1pTransform>();
}

}  // namespace millrace
