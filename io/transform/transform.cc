#include "io/transform/transform.h"

namespace millrace {

void FeatureValues::make_numbers() {
  if (!are_ids) return;
  numbers.assign(list.values.begin(), list.values.end());
  are_ids = false;
}

absl::Span<int64_t> FeatureValues::make_ids(int64_t count) {
  list.values.resize(count);
  are_ids = true;
  return absl::MakeSpan(list.values);
}

ValueType Transform::gives(ValueType) const { return ValueType::kInt64; }

bool Transform::distinguishes_text() const {
  return takes() == Takes::kTextOrIntegers || takes() == Takes::kAny;
}

std::vector<std::string> Transform::files() const { return {}; }

absl::Status Transform::prepare(FileSystem&) { return absl::OkStatus(); }

}  // namespace millrace
