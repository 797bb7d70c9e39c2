#include "hook/reported_value.h"

namespace millrace {

absl::string_view reduction_name(Reduction reduction) {
  switch (reduction) {
    case Reduction::kMean: return "mean";
    case Reduction::kSum: return "sum";
    case Reduction::kMin: return "min";
    case Reduction::kMax: return "max";
    case Reduction::kLast: return "last";
  }
  return "unknown";
}

}  // namespace millrace
