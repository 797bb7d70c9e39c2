#include "io/transform/truncate_transform.h"

#include <algorithm>

#include "io/transform/id_lists.h"

namespace millrace {
namespace {

class Truncate : public Transform {
 public:
  explicit Truncate(const TruncateTransform& config) : config_(config) {}

  Takes takes() const override { return Takes::kIntegers; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    const IdColumn& list = values->list;
    if (list.offsets.empty()) return absl::OkStatus();  // one each
    IdListBuilder kept(list, !list.weights.empty());
    for (int64_t row = 0; row < list.rows; ++row) {
      int64_t begin = list.begin(row), end = list.end(row);
      const int64_t count = std::min<int64_t>(end - begin, config_.count());
      if (config_.keep() == TruncateTransform::FIRST) {
        end = begin + count;
      } else {
        begin = end - count;
      }
      for (int64_t i = begin; i < end; ++i) kept.add(list.values[i], weight_of(list, i));
      kept.end_row();
    }
    values->list = kept.take();
    return absl::OkStatus();
  }

 private:
  const TruncateTransform config_;
};

}  // namespace

std::unique_ptr<Transform> make_truncate_transform(const TruncateTransform& config) {
  return std::make_unique<Truncate>(config);
}

}  // namespace millrace
