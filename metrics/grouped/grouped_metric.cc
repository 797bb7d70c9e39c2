#include "metrics/grouped/grouped_metric.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "base/sort/radix_sort.h"

namespace millrace {
namespace {

// Number of bits of groups and of predictions that are sorted by digits, in two passes each.
constexpr int kSortedBits = 22;

// Returns a hash of kSortedBits: the upper bits of the product with 2^64 / the golden ratio (Knuth,
// "The Art of Computer Programming", volume 3, 6.4).
uint32_t hash_of_group(int64_t group) {
  const uint64_t product = static_cast<uint64_t>(group) * 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>(product >> (64 - kSortedBits));
}

uint32_t bits_of_prediction(const GroupedExample& example) {
  return ordered_bits(example.prediction);
}

// Sorts the examples of one hash by group, then by prediction, then by value. The examples are
// sorted by the bits of the prediction that a shift by `shift` leaves.
void sort_examples_of_hash(absl::Span<GroupedExample> examples, int shift) {
  const auto in_group = [&](const GroupedExample& example) {
    return example.group == examples[0].group;
  };
  if (!std::all_of(examples.begin(), examples.end(), in_group)) {
    std::sort(examples.begin(), examples.end(),
              [](const GroupedExample& a, const GroupedExample& b) {
                return std::tie(a.group, a.prediction, a.value) <
                       std::tie(b.group, b.prediction, b.value);
              });
    return;
  }
  sort_ties(
      examples, [&](const GroupedExample& example) { return bits_of_prediction(example) >> shift; },
      [](const GroupedExample& example) {
        return std::tuple(bits_of_prediction(example), example.value);
      });
}

// Sorts by the hash of the group, then by group, then by prediction, then by value.
void sort_examples(std::vector<GroupedExample>* examples) {
  const int shift =
      shift_to_leading_bits(absl::MakeConstSpan(*examples), kSortedBits, bits_of_prediction);
  radix_sort(examples, narrow_key<kSortedBits>([](const GroupedExample& example) {
               return hash_of_group(example.group);
             }),
             narrow_key<kSortedBits>([&](const GroupedExample& example) {
               return bits_of_prediction(example) >> shift;
             }));
  const absl::Span<GroupedExample> sorted = absl::MakeSpan(*examples);
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    const uint32_t hash = hash_of_group(sorted[begin].group);
    while (end < sorted.size() && hash_of_group(sorted[end].group) == hash) ++end;
    sort_examples_of_hash(sorted.subspan(begin, end - begin), shift);
  }
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

bool GroupedMetric::keep(const MetricInput& input, std::vector<GroupedExample>* kept) const {
  bool are_numbers = true;
  values_.resize(input.predictions.size());
  set_values(input, absl::MakeSpan(values_));
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    if (input.weight(i) == 0) continue;
    const float prediction = input.predictions[i], value = values_[i];
    if (input.groups.empty() || std::isnan(prediction) || std::isnan(value)) {
      are_numbers = false;
    } else {
      kept->push_back({input.groups[i], prediction, value});
    }
  }
  return are_numbers;
}

void GroupedMetric::sort_kept(std::vector<GroupedExample>* examples) const {
  sort_examples(examples);
}

uint32_t GroupedMetric::range_key(const GroupedExample& example) const {
  return hash_of_group(example.group);
}

void GroupedMetric::add_sorted(absl::Span<const GroupedExample> sorted, GroupSums* sums) const {
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && sorted[end].group == sorted[begin].group) ++end;
    const std::optional<GroupResult> result = compute_group(sorted.subspan(begin, end - begin));
    if (!result.has_value()) continue;
    sums->sum += result->weight * result->value;
    sums->weights += result->weight;
  }
}

double GroupedMetric::value(const GroupSums& sums) const {
  return sums.weights == 0 ? std::numeric_limits<double>::quiet_NaN() : sums.sum / sums.weights;
}

}  // namespace millrace
