#include "io/transform/missing/is_missing_transform.h"

#include <utility>

namespace millrace {
namespace {

class IsMissing : public Transform {
 public:
  Takes takes() const override { return Takes::kAny; }

  // Only the number of values matters.
  bool distinguishes_text() const override { return false; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    const IdColumn list = std::move(values->list);
    values->list = IdColumn();
    values->list.rows = list.rows;
    const absl::Span<int64_t> ids = values->make_ids(list.rows);
    for (int64_t row = 0; row < list.rows; ++row) ids[row] = list.begin(row) == list.end(row);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Transform> make_is_missing_transform() { return std::make_unique<IsMissing>(); }

}  // namespace millrace
