#include "metrics/calibration_error.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/byte_stream.h"
#include "base/status_macros.h"
#include "metrics/metric_registry.h"
#include "metrics/saved_metric.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

MILLRACE_REGISTER_METRIC(calibration_error, "expected calibration error, by buckets",
                         [](const CustomConfig& config) {
                           return std::make_unique<CalibrationErrorMetric>(
                               config.GetExtension(calibration_error).buckets());
                         },
                         {.direction = MetricDirection::kLowerIsBetter,
                          .needs_probabilities = true});

}  // namespace

void CalibrationErrorMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    const double weight = input.weight(i);
    if (weight == 0) continue;
    const double gap = weight * (double{input.predictions[i]} - double{input.labels[i]});
    if (!std::isfinite(gap)) {
      weight_ = kNotANumber;
      continue;
    }
    gaps_.add(input.predictions[i], gap);
    weight_ += weight;
  }
}

double CalibrationErrorMetric::compute() const {
  if (weight_ == 0) return kNotANumber;
  double error = 0;
  for (const double gap : gaps_.sums()) error += std::fabs(gap);
  return error / weight_;
}

void CalibrationErrorMetric::reset() {
  gaps_.reset();
  weight_ = 0;
}

void CalibrationErrorMetric::merge(const Metric& other) {
  const auto& from = static_cast<const CalibrationErrorMetric&>(other);
  gaps_.add(from.gaps_);
  weight_ += from.weight_;
}

std::string CalibrationErrorMetric::save() const {
  ByteWriter writer = begin_saved_metric(name());
  writer.write_uint32(static_cast<uint32_t>(gaps_.sums().size()));
  writer.write_double(weight_);
  gaps_.save(&writer);
  return writer.take();
}

absl::Status CalibrationErrorMetric::merge_saved(absl::string_view bytes) {
  ASSIGN_OR_RETURN(ByteReader reader, open_saved_metric(name(), bytes));
  RETURN_IF_ERROR(check_saved_option(name(), "buckets", reader.read_uint32(), gaps_.sums().size()));
  const double weight = reader.read_double();
  const std::optional<std::vector<BucketSums::Entry>> gaps = gaps_.read(&reader);
  if (!gaps || !reader.done()) {
    return saved_metric_error(name(), "does not hold the sums of buckets");
  }
  gaps_.add(*gaps);
  weight_ += weight;
  return absl::OkStatus();
}

}  // namespace millrace
