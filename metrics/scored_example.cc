#include "metrics/scored_example.h"

#include "base/sort/radix_sort.h"

namespace millrace {

void sort_examples(std::vector<ScoredExample>* examples) {
  const auto prediction = [](const ScoredExample& example) { return example.prediction; };
  radix_sort(examples,
             [&](const ScoredExample& example) { return ordered_bits(prediction(example)); });
  sort_ties(absl::MakeSpan(*examples), prediction,
            [](const ScoredExample& example) { return example.signed_weight; });
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

ClassWeights sum_classes(absl::Span<const ScoredExample> examples) {
  ClassWeights sums;
  for (const ScoredExample& example : examples) {
    const double weight = example.signed_weight;
    if (weight > 0) {
      sums.positives += weight;
    } else {
      sums.negatives -= weight;
    }
  }
  return sums;
}

void write_example(const ScoredExample& example, ByteWriter* writer) {
  writer->write_float(example.prediction);
  writer->write_float(example.signed_weight);
}

bool read_example(ByteReader* reader, ScoredExample* example) {
  example->prediction = reader->read_float();
  example->signed_weight = reader->read_float();
  return reader->ok() && is_number(*example) && example->signed_weight != 0;
}

}  // namespace millrace
