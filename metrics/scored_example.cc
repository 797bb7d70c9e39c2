#include "metrics/scored_example.h"

#include <tuple>

#include "base/sort/radix_sort.h"

namespace millrace {

// The bits of predictions that are sorted by digits, in two passes.
constexpr int kSortedBits = 22;

void sort_examples(std::vector<ScoredExample>* examples) {
  const auto bits = [](const ScoredExample& example) { return ordered_bits(example.prediction); };
  const int shift = shift_to_leading_bits(absl::MakeConstSpan(*examples), kSortedBits, bits);
  const auto leading_bits = [&](const ScoredExample& example) { return bits(example) >> shift; };
  radix_sort(examples, narrow_key<kSortedBits>(leading_bits));
  sort_ties(absl::MakeSpan(*examples), leading_bits, [&](const ScoredExample& example) {
    return std::tuple(bits(example), example.signed_weight);
  });
}

absl::Span<const ScoredExample> lowest_tie(absl::Span<const ScoredExample> sorted) {
  size_t end = 1;
  while (end < sorted.size() && sorted[end].prediction == sorted[0].prediction) ++end;
  return sorted.first(end);
}

absl::Span<const ScoredExample> highest_tie(absl::Span<const ScoredExample> sorted) {
  size_t begin = sorted.size() - 1;
  while (begin > 0 && sorted[begin - 1].prediction == sorted.back().prediction) --begin;
  return sorted.subspan(begin);
}

void add_classes(absl::Span<const ScoredExample> examples, ClassWeights* sums) {
  ClassWeights added = *sums;
  for (const ScoredExample& example : examples) {
    const double weight = example.signed_weight;
    if (weight > 0) {
      added.positives += weight;
    } else {
      added.negatives -= weight;
    }
  }
  *sums = added;
}

ClassWeights sum_classes(absl::Span<const ScoredExample> examples) {
  ClassWeights sums;
  add_classes(examples, &sums);
  return sums;
}

void write_example(const ScoredExample& example, ByteWriter* writer) {
  writer->write_float(example.prediction);
  writer->write_float(example.signed_weight);
}

bool read_example(ByteReader* reader, ScoredExample* example) {
  example->prediction = reader->read_float();
  example->signed_weight = reader->read_float();
  return reader->ok() && has_numbers(*example) && example->signed_weight != 0;
}

}  // namespace millrace
