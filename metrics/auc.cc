#include "metrics/auc.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/byte_stream.h"
#include "base/status_macros.h"
#include "metrics/saved_metric.h"

namespace millrace {
namespace {

constexpr size_t kSavedExampleBytes = 8;  // two float32

}  // namespace

void AucMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    const float weight = static_cast<float>(input.weight(i));
    if (weight == 0) continue;
    // Not-a-number would break the order that sorting relies on.
    if (std::isnan(input.predictions[i]) || std::isnan(input.labels[i]) || std::isnan(weight)) {
      not_a_number_ = true;
      continue;
    }
    examples_.push_back({input.predictions[i], input.labels[i] > 0.5f ? weight : -weight});
  }
}

double AucMetric::compute() const {
  if (not_a_number_) return std::numeric_limits<double>::quiet_NaN();
  // Equal predictions are ordered by weight, so that sums over them have a fixed order.
  std::sort(examples_.begin(), examples_.end(), [](const Example& a, const Example& b) {
    return a.prediction != b.prediction ? a.prediction < b.prediction
                                        : a.signed_weight < b.signed_weight;
  });
  double area = 0, positives = 0, negatives = 0;
  for (size_t i = 0; i < examples_.size();) {
    double tied_positives = 0, tied_negatives = 0;
    const float prediction = examples_[i].prediction;
    for (; i < examples_.size() && examples_[i].prediction == prediction; ++i) {
      const double weight = examples_[i].signed_weight;
      if (weight > 0) {
        tied_positives += weight;
      } else {
        tied_negatives -= weight;
      }
    }
    area += tied_positives * (negatives + tied_negatives / 2);
    positives += tied_positives;
    negatives += tied_negatives;
  }
  if (positives == 0 || negatives == 0) return std::numeric_limits<double>::quiet_NaN();
  return area / (positives * negatives);
}

void AucMetric::reset() {
  examples_.clear();
  not_a_number_ = false;
}

void AucMetric::merge(const Metric& other) {
  const auto& from = static_cast<const AucMetric&>(other);
  examples_.insert(examples_.end(), from.examples_.begin(), from.examples_.end());
  not_a_number_ |= from.not_a_number_;
}

std::string AucMetric::save() const {
  ByteWriter writer = begin_saved_metric(name());
  writer.reserve(1 + kSavedExampleBytes * examples_.size());
  writer.write_uint8(not_a_number_ ? 1 : 0);
  for (const Example& example : examples_) {
    writer.write_float(example.prediction);
    writer.write_float(example.signed_weight);
  }
  return writer.take();
}

absl::Status AucMetric::merge_saved(absl::string_view bytes) {
  ASSIGN_OR_RETURN(ByteReader reader, open_saved_metric(name(), bytes));
  const int not_a_number = reader.read_uint8();
  if (!reader.ok() || not_a_number > 1 || reader.remaining() % kSavedExampleBytes != 0) {
    return saved_metric_error(name(), "does not hold whole examples");
  }
  const size_t before = examples_.size();
  examples_.reserve(before + reader.remaining() / kSavedExampleBytes);
  while (reader.remaining() > 0) {
    Example example;
    example.prediction = reader.read_float();
    example.signed_weight = reader.read_float();
    // update() keeps no such example; not-a-number would break the order that sorting relies on.
    if (std::isnan(example.prediction) || std::isnan(example.signed_weight) ||
        example.signed_weight == 0) {
      examples_.resize(before);
      return saved_metric_error(name(), "holds an example that is none");
    }
    examples_.push_back(example);
  }
  not_a_number_ |= not_a_number == 1;
  return absl::OkStatus();
}

}  // namespace millrace
