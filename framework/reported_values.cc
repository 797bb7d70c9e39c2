#include "framework/reported_values.h"

#include <cmath>

namespace millrace {

void ReportedValues::add(absl::string_view name, double value, Reduction reduction) {
  Entry& entry = entries_.try_emplace(std::string(name), Entry{reduction}).first->second;
  const bool first = entry.count++ == 0;
  switch (entry.reduction) {
    case Reduction::kMean:
    case Reduction::kSum:
      entry.value += value;
      break;
    case Reduction::kMin:
      if (first || value < entry.value || std::isnan(value)) entry.value = value;
      break;
    case Reduction::kMax:
      if (first || value > entry.value || std::isnan(value)) entry.value = value;
      break;
    case Reduction::kLast:
      entry.value = value;
      break;
  }
}

void ReportedValues::drain(std::map<std::string, double>* values) {
  for (const auto& [name, entry] : entries_) {
    (*values)[name] = entry.reduction == Reduction::kMean ? entry.value / entry.count : entry.value;
  }
  entries_.clear();
}

}  // namespace millrace
