#include "proto/split_bounds.h"

#include <limits>

namespace millrace {

SplitBounds split_bounds(const SplitConfig& split) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SplitBounds bounds;
  if (split.by() == SplitConfig::ORDER_OF_COLUMN) bounds = {-kInfinity, kInfinity};
  if (split.has_from()) bounds.from = split.from();
  if (split.has_to()) bounds.to = split.to();
  return bounds;
}

bool takes_all(const SplitConfig& split) {
  if (split.by() == SplitConfig::ORDER_OF_COLUMN) return false;
  const SplitBounds bounds = split_bounds(split);
  return bounds.from == 0 && bounds.to == 1;
}

}  // namespace millrace
