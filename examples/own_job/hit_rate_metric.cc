// A metric.
#include <cmath>
#include <cstring>
#include <limits>

#include "examples/own_job/own_job.pb.h"
#include "metrics/metric_registry.h"

namespace millrace {
namespace {

// The weighted share of examples whose prediction is within a tolerance of the label.
class HitRateMetric : public Metric {
 public:
  static absl::StatusOr<std::unique_ptr<Metric>> create(const CustomConfig& custom) {
    const double tolerance = custom.GetExtension(hit_rate).tolerance();
    if (!(tolerance >= 0)) return absl::InvalidArgumentError("tolerance must be at least 0");
    return std::make_unique<HitRateMetric>(tolerance);
  }

  explicit HitRateMetric(double tolerance) : tolerance_(tolerance) {}

  absl::string_view name() const override { return "hit_rate"; }

  void update(const MetricInput& input) override {
    for (size_t i = 0; i < input.predictions.size(); ++i) {
      const double weight = input.weight(i);
      if (weight == 0) continue;
      const double error = std::fabs(double{input.predictions[i]} - double{input.labels[i]});
      // An error that is not a number makes the sum not a number.
      sums_.hits += std::isnan(error) ? error : error <= tolerance_ ? weight : 0;
      sums_.weights += weight;
    }
  }

  double compute() const override {
    return sums_.weights == 0 ? std::numeric_limits<double>::quiet_NaN()
                              : sums_.hits / sums_.weights;
  }

  void reset() override { sums_ = {}; }

  void merge(const Metric& other) override { add(static_cast<const HitRateMetric&>(other).sums_); }

  std::string save() const override {
    return std::string(reinterpret_cast<const char*>(&sums_), sizeof(sums_));
  }

  absl::Status merge_saved(absl::string_view bytes) override {
    Sums other;
    if (bytes.size() != sizeof(other)) {
      return absl::DataLossError("the saved hit rate does not have two numbers");
    }
    std::memcpy(&other, bytes.data(), sizeof(other));
    add(other);
    return absl::OkStatus();
  }

 private:
  struct Sums {
    double hits = 0;
    double weights = 0;
  };

  void add(const Sums& other) {
    sums_.hits += other.hits;
    sums_.weights += other.weights;
  }

  const double tolerance_;
  Sums sums_;
};

MILLRACE_REGISTER_METRIC(hit_rate, "share of predictions near the label", &HitRateMetric::create,
                         {.direction = MetricDirection::kHigherIsBetter});

}  // namespace
}  // namespace millrace
