#include "metrics/grouped/grouped_metric.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/sort/radix_sort.h"

namespace millrace {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// Sorts by group, then by prediction, then by value.
void sort_examples(std::vector<GroupedExample>* examples) {
  radix_sort(
      examples, [](const GroupedExample& example) { return ordered_bits(example.group); },
      [](const GroupedExample& example) { return ordered_bits(example.prediction); },
      [](const GroupedExample& example) { return ordered_bits(example.value); });
}

}  // namespace

void write_example(const GroupedExample& example, ByteWriter* writer) {
  writer->write_int64(example.group);
  writer->write_float(example.prediction);
  writer->write_float(example.value);
}

bool read_example(ByteReader* reader, GroupedExample* example) {
  example->group = reader->read_int64();
  example->prediction = reader->read_float();
  example->value = reader->read_float();
  return reader->ok() && !std::isnan(example->prediction) && !std::isnan(example->value);
}

std::optional<GroupedExample> GroupedMetric::keep(const MetricInput& input, size_t example) const {
  const float prediction = input.predictions[example], value = value_of(input, example);
  if (std::isnan(prediction) || std::isnan(value) || input.groups.empty()) return std::nullopt;
  return GroupedExample{input.groups[example], prediction, value};
}

double GroupedMetric::compute() const {
  if (has_not_a_number()) return kNotANumber;
  std::vector<GroupedExample>& sorted = examples();
  sort_examples(&sorted);
  double sum = 0, weights = 0;
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && sorted[end].group == sorted[begin].group) ++end;
    const std::optional<GroupResult> result =
        compute_group(absl::MakeConstSpan(sorted).subspan(begin, end - begin));
    if (!result.has_value()) continue;
    sum += result->weight * result->value;
    weights += result->weight;
  }
  return weights == 0 ? kNotANumber : sum / weights;
}

}  // namespace millrace
