#include "embedding/pooling.h"

#include <cmath>

namespace millrace {

float IdLists::divisor(int64_t list) const {
  const auto length = static_cast<float>(end(list) - begin(list));
  if (pooling == MEAN) return length;
  return pooling == SQUARE_ROOT_N ? std::sqrt(length) : 1.0f;
}

double IdLists::coefficient(int64_t list, int64_t at) const {
  if (pooling == NONE) return 1;
  const double weight = weights.empty() ? 1 : weights[at];
  return pooling == SUM ? weight : weight / static_cast<double>(divisor(list));
}

bool IdLists::copies() const {
  if (pooling == NONE) return true;
  if (!weights.empty() || static_cast<int64_t>(ids.size()) != batch()) return false;
  if (one_id_each.has_value()) return *one_id_each;
  int64_t others = 0;
  for (int64_t list = 0; list < batch(); ++list) others += end(list) - begin(list) != 1 ? 1 : 0;
  return others == 0;
}

}  // namespace millrace
