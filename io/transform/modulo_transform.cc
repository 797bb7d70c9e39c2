#include "io/transform/modulo_transform.h"

namespace millrace {
namespace {

class Modulo : public Transform {
 public:
  explicit Modulo(uint64_t divisor) : divisor_(divisor) {}

  Takes takes() const override { return Takes::kIntegers; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    for (int64_t& id : values->list.values) {
      id = static_cast<int64_t>(static_cast<uint64_t>(id) % divisor_);
    }
    return absl::OkStatus();
  }

 private:
  const uint64_t divisor_;
};

}  // namespace

std::unique_ptr<Transform> make_modulo_transform(const ModuloTransform& config) {
  return std::make_unique<Modulo>(config.divisor());
}

}  // namespace millrace
