#include "embedding/initializer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/philox.h"

namespace millrace {

absl::StatusOr<Initializer> Initializer::create(const InitializerConfig& config, uint64_t seed,
                                                absl::string_view table) {
  Kind kind = Kind::kUniform;
  double offset = config.uniform().low();
  double scale = config.uniform().high() - config.uniform().low();
  if (config.has_constant()) {
    kind = Kind::kConstant;
    offset = config.constant().value();
    scale = 0;
  } else if (config.has_normal()) {
    kind = Kind::kNormal;
    offset = config.normal().mean();
    scale = config.normal().stddev();
  }
  if (!std::isfinite(offset) || !std::isfinite(scale) || scale < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("table ", table, ": initializer needs finite numbers, low <= high and ",
                     "stddev >= 0; got { ", config.ShortDebugString(), " }"));
  }
  return Initializer(kind, offset, scale, xxh3(table, seed));
}

void Initializer::fill(int64_t id, absl::Span<float> row) const {
  if (kind_ == Kind::kConstant) {
    std::fill(row.begin(), row.end(), static_cast<float>(offset_));
    return;
  }
  const auto columns = static_cast<int64_t>(row.size());
  for (int64_t begin = 0; begin < columns; begin += 4) {
    const PhiloxBlock bits = philox(key_, static_cast<uint64_t>(id), begin / 4);
    for (int64_t i = 0; i < std::min<int64_t>(4, columns - begin); ++i) {
      const double sample = kind_ == Kind::kUniform ? static_cast<double>(uniform24(bits[i]))
                                                    : normal_quantile(bits[i]);
      row[begin + i] = static_cast<float>(offset_ + scale_ * sample);
    }
  }
}

}  // namespace millrace
