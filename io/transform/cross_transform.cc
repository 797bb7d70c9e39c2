#include "io/transform/cross_transform.h"

#include <array>
#include <cstring>

#include "base/hash.h"
#include "io/transform/hash_functions.h"
#include "io/transform/id_lists.h"

namespace millrace {
namespace {

class Cross : public Transform {
 public:
  Cross(uint64_t seed, size_t number) : seed_(seed), number_(number) {}

  Takes takes() const override { return Takes::kIntegers; }

  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    const IdColumn& list = values->list;
    const IdColumn& other = *input.crossed[number_];
    const int64_t first_row = other.rows - list.rows;
    IdListBuilder crossed(list, !list.weights.empty() || !other.weights.empty());
    for (int64_t row = 0; row < list.rows; ++row) {
      for (int64_t i = list.begin(row); i < list.end(row); ++i) {
        for (int64_t j = other.begin(first_row + row); j < other.end(first_row + row); ++j) {
          crossed.add(id_of(list.values[i], other.values[j]),
                      weight_of(list, i) * weight_of(other, j));
        }
      }
      crossed.end_row();
    }
    values->list = crossed.take();
    return absl::OkStatus();
  }

 private:
  int64_t id_of(int64_t a, int64_t b) const {
    std::array<char, 16> bytes;
    std::memcpy(bytes.data(), little_endian(a).data(), 8);
    std::memcpy(bytes.data() + 8, little_endian(b).data(), 8);
    return static_cast<int64_t>(xxh3({bytes.data(), bytes.size()}, seed_));
  }

  const uint64_t seed_;
  const size_t number_;
};

}  // namespace

std::unique_ptr<Transform> make_cross_transform(const CrossTransform& config, size_t number) {
  return std::make_unique<Cross>(config.seed(), number);
}

}  // namespace millrace
