#include "io/transform/hash_transform.h"

#include "io/transform/hash_functions.h"

namespace millrace {
namespace {

class IdHash : public Transform {
 public:
  explicit IdHash(const HashTransform& config) : config_(config) {}

  Takes takes() const override { return Takes::kTextOrIntegers; }

  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    if (values->are_ids) {
      hash_ids(config_.function(), config_.seed(), absl::MakeSpan(values->list.values));
    } else {
      const StringValues& texts = input.column.strings;
      hash_texts(config_.function(), config_.seed(), texts, values->make_ids(texts.size()));
    }
    return absl::OkStatus();
  }

 private:
  const HashTransform config_;
};

}  // namespace

std::unique_ptr<Transform> make_hash_transform(const HashTransform& config) {
  return std::make_unique<IdHash>(config);
}

}  // namespace millrace
