// A metric.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "metrics/metric_registry.h"
#include "visits.pb.h"

namespace visits {
namespace {

// The weighted share of positives whose prediction reaches a threshold.
class HitShareMetric : public millrace::Metric {
 public:
  static absl::StatusOr<std::unique_ptr<millrace::Metric>> create(
      const millrace::CustomConfig& custom) {
    const double threshold = custom.GetExtension(hit_share).threshold();
    if (!(threshold >= 0 && threshold <= 1)) {
      return absl::InvalidArgumentError("threshold must be 0 to 1");
    }
    return std::make_unique<HitShareMetric>(threshold);
  }

  explicit HitShareMetric(double threshold) : threshold_(threshold) {}

  absl::string_view name() const override { return "hit_share"; }

  void update(const millrace::MetricInput& input) override {
    for (size_t i = 0; i < input.predictions.size(); ++i) {
      if (input.weight(i) == 0) continue;
      const double prediction = input.predictions[i];
      const double positive = input.weight(i) * input.labels[i];
      sums_.positives += positive;
      // A prediction that is not a number makes the sum not a number.
      sums_.found += std::isnan(prediction) ? prediction : prediction >= threshold_ ? positive : 0;
    }
  }

  double compute() const override {
    return sums_.positives == 0 ? std::numeric_limits<double>::quiet_NaN()
                                : sums_.found / sums_.positives;
  }

  void reset() override { sums_ = {}; }

  void merge(const millrace::Metric& other) override {
    add(static_cast<const HitShareMetric&>(other).sums_);
  }

  std::string save() const override {
    return std::string(reinterpret_cast<const char*>(&sums_), sizeof(sums_));
  }

  absl::Status merge_saved(absl::string_view bytes) override {
    Sums other;
    if (bytes.size() != sizeof(other)) {
      return absl::DataLossError("the saved hit_share does not have two numbers");
    }
    std::memcpy(&other, bytes.data(), sizeof(other));
    add(other);
    return absl::OkStatus();
  }

 private:
  struct Sums {
    double found = 0;
    double positives = 0;
  };

  void add(const Sums& other) {
    sums_.found += other.found;
    sums_.positives += other.positives;
  }

  const double threshold_;
  Sums sums_;
};

MILLRACE_REGISTER_METRIC(hit_share, "share of positives that are predicted",
                         &HitShareMetric::create,
                         {.direction = millrace::MetricDirection::kHigherIsBetter,
                          .needs_probabilities = true});

}  // namespace
}  // namespace visits
