#include "bench/benchmark.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace millrace {

std::string to_json_line(const Measurement& measurement) {
  std::vector<double> sorted = measurement.values;
  std::sort(sorted.begin(), sorted.end());
  nlohmann::ordered_json json;
  json["name"] = measurement.name;
  for (const auto& [name, value] : measurement.parameters) json[name] = value;
  json["unit"] = measurement.unit;
  const size_t n = sorted.size();
  if (n > 0) {
    json["median"] = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    json["best"] = measurement.higher_is_better ? sorted.back() : sorted.front();
  }
  json["repeats"] = n;
  json["values"] = measurement.values;
  return json.dump() + "\n";
}

}  // namespace millrace
