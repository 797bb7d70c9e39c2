#include "metrics/grouped/grouped_metric.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/byte_stream.h"
#include "base/status_macros.h"
#include "metrics/saved_metric.h"

namespace millrace {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kSavedExampleBytes = 16;  // int64 and two float32

bool is_before(const GroupedExample& a, const GroupedExample& b) {
  return std::tie(a.group, a.prediction, a.value) < std::tie(b.group, b.prediction, b.value);
}

}  // namespace

void GroupedMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    if (input.weight(i) == 0) continue;
    const float prediction = input.predictions[i], value = value_of(input, i);
    if (std::isnan(prediction) || std::isnan(value) || input.groups.empty()) {
      not_a_number_ = true;
    } else {
      examples_.push_back({input.groups[i], prediction, value});
    }
  }
}

double GroupedMetric::compute() const {
  if (not_a_number_) return kNotANumber;
  std::sort(examples_.begin(), examples_.end(), is_before);
  double sum = 0, weights = 0;
  for (size_t begin = 0, end = 0; begin < examples_.size(); begin = end) {
    while (end < examples_.size() && examples_[end].group == examples_[begin].group) ++end;
    const std::optional<GroupResult> result =
        compute_group(absl::MakeConstSpan(examples_).subspan(begin, end - begin));
    if (!result.has_value()) continue;
    sum += result->weight * result->value;
    weights += result->weight;
  }
  return weights == 0 ? kNotANumber : sum / weights;
}

void GroupedMetric::reset() {
  examples_.clear();
  not_a_number_ = false;
}

void GroupedMetric::merge(const Metric& other) {
  const auto& from = static_cast<const GroupedMetric&>(other);
  examples_.insert(examples_.end(), from.examples_.begin(), from.examples_.end());
  not_a_number_ |= from.not_a_number_;
}

std::string GroupedMetric::save() const {
  ByteWriter writer = begin_saved_metric(name());
  writer.reserve(1 + kSavedExampleBytes * examples_.size());
  writer.write_uint8(not_a_number_ ? 1 : 0);
  for (const GroupedExample& example : examples_) {
    writer.write_int64(example.group);
    writer.write_float(example.prediction);
    writer.write_float(example.value);
  }
  return writer.take();
}

absl::Status GroupedMetric::merge_saved(absl::string_view bytes) {
  ASSIGN_OR_RETURN(ByteReader reader, open_saved_metric(name(), bytes));
  const int not_a_number = reader.read_uint8();
  if (!reader.ok() || not_a_number > 1 || reader.remaining() % kSavedExampleBytes != 0) {
    return saved_metric_error(name(), "does not hold whole examples");
  }
  const size_t before = examples_.size();
  examples_.reserve(before + reader.remaining() / kSavedExampleBytes);
  while (reader.remaining() > 0) {
    GroupedExample& example = examples_.emplace_back();
    example.group = reader.read_int64();
    example.prediction = reader.read_float();
    example.value = reader.read_float();
    if (std::isnan(example.prediction) || std::isnan(example.value) || !is_kept(example.value)) {
      examples_.resize(before);
      return saved_metric_error(name(), "holds an example that is none");
    }
  }
  not_a_number_ |= not_a_number == 1;
  return absl::OkStatus();
}

}  // namespace millrace
