#include "metrics/auc_buckets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "base/byte_stream.h"
#include "base/status_macros.h"
#include "metrics/metric_registry.h"
#include "metrics/saved_metric.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(auc_buckets, "area under the ROC curve from a histogram",
                         [](const CustomConfig& config) {
                           return std::make_unique<AucBucketsMetric>(
                               config.GetExtension(auc_buckets).buckets());
                         },
                         {.direction = MetricDirection::kHigherIsBetter,
                          .needs_probabilities = true});

}  // namespace

void AucBucketsMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    const double weight = input.weight(i);
    if (weight == 0) continue;
    const float prediction = input.predictions[i];
    if (std::isnan(prediction) || std::isnan(input.labels[i]) || !std::isfinite(weight)) {
      not_a_number_ = true;
      continue;
    }
    (input.labels[i] > 0.5f ? positives_ : negatives_).add(prediction, weight);
  }
}

double AucBucketsMetric::compute() const {
  double area = 0, positives = 0, negatives = 0;
  for (size_t b = 0; b < positives_.sums().size(); ++b) {
    const double positive = positives_.sums()[b], negative = negatives_.sums()[b];
    area += positive * (negatives + negative / 2);
    positives += positive;
    negatives += negative;
  }
  if (not_a_number_ || positives == 0 || negatives == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return area / (positives * negatives);
}

double AucBucketsMetric::error_bound() const {
  double undecided = 0, positives = 0, negatives = 0;
  for (size_t b = 0; b < positives_.sums().size(); ++b) {
    undecided += positives_.sums()[b] * negatives_.sums()[b];
    positives += positives_.sums()[b];
    negatives += negatives_.sums()[b];
  }
  if (not_a_number_ || positives == 0 || negatives == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return undecided / (2 * positives * negatives);
}

std::optional<ThresholdWeights> AucBucketsMetric::threshold_weights() const {
  if (std::isnan(compute())) return std::nullopt;
  const std::vector<double>& positives = positives_.sums();
  const std::vector<double>& negatives = negatives_.sums();
  const double all_positives = std::accumulate(positives.begin(), positives.end(), 0.0);
  const double all_negatives = std::accumulate(negatives.begin(), negatives.end(), 0.0);
  const auto buckets = static_cast<int64_t>(positives.size());
  const int64_t intervals = std::min(buckets, ThresholdWeights::kIntervals);
  ThresholdWeights weights;
  double positives_below = 0, negatives_below = 0;
  for (int64_t i = 0, bucket = 0; i <= intervals; ++i) {
    for (const int64_t end = i * buckets / intervals; bucket < end; ++bucket) {
      positives_below += positives[bucket];
      negatives_below += negatives[bucket];
    }
    weights.add(static_cast<double>(bucket) / static_cast<double>(buckets), positives_below,
                negatives_below, all_positives, all_negatives);
  }
  return weights;
}

void AucBucketsMetric::reset() {
  positives_.reset();
  negatives_.reset();
  not_a_number_ = false;
}

void AucBucketsMetric::merge(const Metric& other) {
  const auto& from = static_cast<const AucBucketsMetric&>(other);
  positives_.add(from.positives_);
  negatives_.add(from.negatives_);
  not_a_number_ |= from.not_a_number_;
}

std::string AucBucketsMetric::save() const {
  ByteWriter writer = begin_saved_metric(name());
  writer.write_uint32(static_cast<uint32_t>(positives_.sums().size()));
  writer.write_uint8(not_a_number_ ? 1 : 0);
  positives_.save(&writer);
  negatives_.save(&writer);
  return writer.take();
}

absl::Status AucBucketsMetric::merge_saved(absl::string_view bytes) {
  ASSIGN_OR_RETURN(ByteReader reader, open_saved_metric(name(), bytes));
  RETURN_IF_ERROR(
      check_saved_option(name(), "buckets", reader.read_uint32(), positives_.sums().size()));
  const int not_a_number = reader.read_uint8();
  const std::optional<std::vector<BucketSums::Entry>> positives = positives_.read(&reader);
  const std::optional<std::vector<BucketSums::Entry>> negatives = negatives_.read(&reader);
  if (!positives || !negatives || !reader.done() || not_a_number > 1) {
    return saved_metric_error(name(), "does not hold two sums of buckets");
  }
  positives_.add(*positives);
  negatives_.add(*negatives);
  not_a_number_ |= not_a_number == 1;
  return absl::OkStatus();
}

}  // namespace millrace
