#include "io/transform/unique_transform.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "io/transform/id_lists.h"

namespace millrace {
namespace {

constexpr int64_t kShortList = 16;  // searched from its begin instead of hashed

class Unique : public Transform {
 public:
  Takes takes() const override { return Takes::kIntegers; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    const IdColumn& list = values->list;
    if (list.offsets.empty()) return absl::OkStatus();
    IdListBuilder kept(list, !list.weights.empty());
    absl::flat_hash_map<int64_t, int64_t> places;
    for (int64_t row = 0; row < list.rows; ++row) {
      const bool is_short = list.end(row) - list.begin(row) <= kShortList;
      places.clear();
      for (int64_t i = list.begin(row); i < list.end(row); ++i) {
        const int64_t id = list.values[i];
        const std::vector<int64_t>& ids = kept.built().values;
        int64_t place = static_cast<int64_t>(ids.size());
        if (is_short) {
          place = std::find(ids.begin() + kept.row_begin(), ids.end(), id) - ids.begin();
        } else {
          place = places.try_emplace(id, place).first->second;
        }
        if (place == static_cast<int64_t>(ids.size())) {
          kept.add(id, weight_of(list, i));
        } else if (!list.weights.empty()) {
          kept.add_weight(place, list.weights[i]);
        }
      }
      kept.end_row();
    }
    values->list = kept.take();
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Transform> make_unique_transform() { return std::make_unique<Unique>(); }

}  // namespace millrace
