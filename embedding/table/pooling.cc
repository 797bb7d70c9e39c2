#include "embedding/table/pooling.h"

#include <cmath>

#include "base/isa/instruction_set.h"
#include "embedding/rows/kernels.h"

namespace millrace {

float IdLists::divisor(int64_t list) const {
  const auto length = static_cast<float>(end(list) - begin(list));
  if (pooling == MEAN) return length;
  return pooling == SQUARE_ROOT_N ? std::sqrt(length) : 1.0f;
}

double IdLists::coefficient(int64_t list, int64_t at) const {
  if (pooling == NONE || pooling == FIRST_N) return 1;
  const double weight = weights.empty() ? 1 : weights[at];
  return pooling == SUM ? weight : weight / static_cast<double>(divisor(list));
}

bool IdLists::copies() const {
  if (pooling == NONE) return true;
  if (weighted() || width() > 1 || static_cast<int64_t>(ids.size()) != batch()) return false;
  if (one_id_each.has_value()) return *one_id_each;
  return kernels(best_instruction_set()).look_at_lists(offsets.data(), batch()).one_id_each;
}

}  // namespace millrace
