#include "io/transform/cast_transform.h"

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "io/exact_integer.h"

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

}  // namespace

std::unique_ptr<Transform> make_cast_transform() { return std::make_unique<Cast>(); }

}  // namespace millrace
