#include "base/random/philox.h"

#include "base/random/normal_quantile.h"

namespace millrace {

double normal_quantile(uint32_t bits) { return standard_normal_quantile((bits + 0.5) * 0x1p-32); }

}  // namespace millrace
