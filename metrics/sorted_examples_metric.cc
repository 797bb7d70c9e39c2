#include "metrics/sorted_examples_metric.h"

#include <algorithm>
#include <limits>

#include "base/byte_stream.h"
#include "base/status_macros.h"
#include "metrics/saved_metric.h"

namespace millrace {

void SortedExamplesMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    if (input.weight(i) == 0) continue;
    const ScoredExample example = scored_example(input, i);
    if (is_number(example)) {
      examples_.push_back(example);
    } else {
      not_a_number_ = true;
    }
  }
}

double SortedExamplesMetric::compute() const {
  if (not_a_number_) return std::numeric_limits<double>::quiet_NaN();
  std::sort(examples_.begin(), examples_.end(), is_before);
  return compute_sorted(examples_);
}

void SortedExamplesMetric::reset() {
  examples_.clear();
  not_a_number_ = false;
}

void SortedExamplesMetric::merge(const Metric& other) {
  const auto& from = static_cast<const SortedExamplesMetric&>(other);
  examples_.insert(examples_.end(), from.examples_.begin(), from.examples_.end());
  not_a_number_ |= from.not_a_number_;
}

std::string SortedExamplesMetric::save() const {
  ByteWriter writer = begin_saved_metric(name());
  writer.reserve(1 + kSavedExampleBytes * examples_.size());
  writer.write_uint8(not_a_number_ ? 1 : 0);
  for (const ScoredExample& example : examples_) write_example(example, &writer);
  return writer.take();
}

absl::Status SortedExamplesMetric::merge_saved(absl::string_view bytes) {
  ASSIGN_OR_RETURN(ByteReader reader, open_saved_metric(name(), bytes));
  const int not_a_number = reader.read_uint8();
  if (!reader.ok() || not_a_number > 1 || reader.remaining() % kSavedExampleBytes != 0) {
    return saved_metric_error(name(), "does not hold whole examples");
  }
  const size_t before = examples_.size();
  examples_.reserve(before + reader.remaining() / kSavedExampleBytes);
  while (reader.remaining() > 0) {
    if (!read_example(&reader, &examples_.emplace_back())) {
      examples_.resize(before);
      return saved_metric_error(name(), "holds an example that is none");
    }
  }
  not_a_number_ |= not_a_number == 1;
  return absl::OkStatus();
}

}  // namespace millrace
