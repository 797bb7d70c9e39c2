#include "framework/report/named_metrics.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "metrics/metric.h"

namespace millrace {
namespace {

// Has a fixed value and counts calls of compute().
class Counted : public Metric {
 public:
  absl::string_view name() const override { return "counted"; }
  double compute() const override {
    ++computed_;
    return value;
  }
  int computed() const { return computed_; }
  void update(const MetricInput&) override {}
  void reset() override {}
  void merge(const Metric&) override {}
  std::string save() const override { return ""; }
  absl::Status merge_saved(absl::string_view) override { return absl::OkStatus(); }

  double value = 0;

 private:
  mutable std::atomic<int> computed_ = 0;
};

TEST(NamedMetricsTest, EachIsComputedOnce) {
  const int before = at::get_num_threads();
  for (const int threads : {1, 4}) {
    at::set_num_threads(threads);
    for (const size_t count : {0, 1, 3, 50}) {
      std::vector<Counted> metrics(count);
      std::vector<NamedMetric> named;
      for (size_t i = 0; i < count; ++i) {
        metrics[i].value = static_cast<double>(i);
        named.push_back({absl::StrCat("m", i), &metrics[i]});
      }
      std::map<std::string, double> values = {{"loss", 7}};
      compute_metrics(named, values);
      EXPECT_EQ(values.size(), count + 1);
      EXPECT_EQ(values["loss"], 7);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(metrics[i].computed(), 1);
        EXPECT_EQ(values[named[i].name], static_cast<double>(i));
      }
    }
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace millrace
