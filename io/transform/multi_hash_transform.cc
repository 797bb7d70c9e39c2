#include "io/transform/multi_hash_transform.h"

#include <array>

#include "io/transform/hash_functions.h"
#include "io/transform/id_lists.h"

namespace millrace {
namespace {

class MultiHash : public Transform {
 public:
  explicit MultiHash(const MultiHashTransform& config) : config_(config) {}

  Takes takes() const override { return Takes::kTextOrIntegers; }

  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    const StringValues* const texts = values->are_ids ? nullptr : &input.column.strings;
    const IdColumn& list = values->list;
    IdListBuilder hashed(list, !list.weights.empty());
    for (int64_t row = 0; row < list.rows; ++row) {
      for (int64_t i = list.begin(row); i < list.end(row); ++i) {
        if (texts != nullptr) {
          add_hashes((*texts)[i], weight_of(list, i), &hashed);
        } else {
          const std::array<char, 8> bytes = little_endian(list.values[i]);
          add_hashes({bytes.data(), bytes.size()}, weight_of(list, i), &hashed);
        }
      }
      hashed.end_row();
    }
    values->list = hashed.take();
    values->are_ids = true;
    return absl::OkStatus();
  }

 private:
  void add_hashes(absl::string_view value, float weight, IdListBuilder* hashed) const {
    const uint64_t divisor = config_.divisor();
    for (uint64_t k = 0; k < static_cast<uint64_t>(config_.count()); ++k) {
      const uint64_t hash = hash_bytes(config_.function(), value, config_.seed() + k);
      hashed->add(static_cast<int64_t>(k * divisor + hash % divisor), weight);
    }
  }

  const MultiHashTransform config_;
};

}  // namespace

std::unique_ptr<Transform> make_multi_hash_transform(const MultiHashTransform& config) {
  return std::make_unique<MultiHash>(config);
}

}  // namespace millrace
