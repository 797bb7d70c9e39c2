#include "tools/compare_models.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/catch_exceptions.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

using Values = std::map<std::string, double>;

// Returns a well mixed number of two others: two steps of SplitMix64.
uint64_t mix(uint64_t a, uint64_t b) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  uint64_t x = a * kGolden + b;
  for (int round = 0; round < 2; ++round) x = placement_hash(static_cast<int64_t>(x + kGolden));
  return x;
}

// Returns a Poisson variable of mean 1 at `bits`, by inversion.
int poisson(uint64_t bits) {
  double rest = static_cast<double>(bits >> 11) * 0x1p-53;
  double probability = std::exp(-1.0);
  int count = 0;
  while (rest >= probability && count < 20) {
    rest -= probability;
    probability /= ++count;
  }
  return count;
}

at::Tensor draw(const StepResult& set, int resample) {
  at::Tensor weights = set.weights.defined() ? set.weights.clone() : at::ones({set.examples});
  float* const data = weights.mutable_data_ptr<float>();
  const int64_t* const groups =
      set.groups.defined() ? set.groups.const_data_ptr<int64_t>() : nullptr;
  for (int64_t i = 0; i < set.examples; ++i) {
    const auto unit = static_cast<uint64_t>(groups != nullptr ? groups[i] : i);
    data[i] *= static_cast<float>(poisson(mix(resample + 1, unit)));
  }
  return weights;
}

absl::StatusOr<Values> compute(const StepResult& set,
                               const std::function<absl::StatusOr<MetricSet>()>& make) {
  ASSIGN_OR_RETURN(MetricSet metrics, make());
  RETURN_IF_ERROR(metrics.update(set));
  Values values = metrics.compute();
  std::erase_if(values, [](const auto& value) {
    const std::string& name = value.first;
    return name == "loss" || name.ends_with("/loss");
  });
  return values;
}

at::Tensor join(const std::vector<at::Tensor>& parts) {
  return parts.empty() ? at::Tensor() : at::cat(parts).contiguous();
}

void keep(const at::Tensor& tensor, std::vector<at::Tensor>* to) {
  if (tensor.defined()) to->push_back(tensor.cpu().clone());
}

}  // namespace

void ScoredSet::add(const StepResult& result) {
  examples_ += result.examples;
  keep(result.predictions, &predictions_);
  keep(result.labels, &labels_);
  keep(result.weights, &weights_);
  keep(result.groups, &groups_);
}

StepResult ScoredSet::joined() const {
  StepResult joined;
  joined.applied = true;
  joined.examples = examples_;
  joined.loss = at::zeros({});
  joined.predictions = join(predictions_);
  joined.labels = join(labels_);
  joined.weights = join(weights_);
  joined.groups = join(groups_);
  return joined;
}

absl::StatusOr<std::vector<ComparedMetric>> compare_metrics(
    const ScoredSet& first, const ScoredSet& second,
    const std::function<absl::StatusOr<MetricSet>()>& make, int threads) {
  const StepResult a = first.joined();
  StepResult b = second.joined();
  constexpr double kNone = -1e30;  // for labels that are not-a-number
  if (a.examples != b.examples ||
      !at::equal(a.labels.nan_to_num(kNone), b.labels.nan_to_num(kNone))) {
    return absl::InvalidArgumentError("the two models do not read the same examples");
  }
  // Both models use the weights and groups of the first: they describe the examples.
  b.weights = a.weights;
  b.groups = a.groups;
  ASSIGN_OR_RETURN(const Values of_a, compute(a, make));
  ASSIGN_OR_RETURN(const Values of_b, compute(b, make));
  std::vector<absl::StatusOr<Values>> differences(kResamples, Values());
  // Each resample has a thread, and LibTorch has no more.
  const int of_torch = at::get_num_threads();
  at::set_num_threads(1);
  ThreadPool pool(threads);
  pool.parallel_for(kResamples, [&](int64_t resample) {
    differences[resample] = catch_exceptions("a resample", [&]() -> absl::StatusOr<Values> {
      StepResult drawn_a = a, drawn_b = b;
      drawn_a.weights = drawn_b.weights = draw(a, static_cast<int>(resample));
      ASSIGN_OR_RETURN(const Values before, compute(drawn_a, make));
      ASSIGN_OR_RETURN(Values after, compute(drawn_b, make));
      for (const auto& [name, value] : before) after[name] -= value;
      return after;
    });
  });
  at::set_num_threads(of_torch);
  std::vector<ComparedMetric> compared;
  for (const auto& [name, value] : of_a) {
    std::vector<double> sorted;
    for (const absl::StatusOr<Values>& each : differences) {
      RETURN_IF_ERROR(each.status());
      const auto difference = each->find(name);
      if (difference == each->end() || std::isnan(difference->second)) continue;
      sorted.push_back(difference->second);
    }
    std::sort(sorted.begin(), sorted.end());
    const auto of_second = of_b.find(name);
    ComparedMetric metric{name, value, of_second == of_b.end() ? std::nan("") : of_second->second,
                          std::nan(""), std::nan("")};
    if (!sorted.empty()) {
      const auto left_out = static_cast<size_t>(0.025 * static_cast<double>(sorted.size()));
      metric.low = sorted[left_out];
      metric.high = sorted[sorted.size() - 1 - left_out];
    }
    compared.push_back(metric);
  }
  return compared;
}

std::string comparison_text(const std::vector<ComparedMetric>& metrics) {
  TextTable table({{"metric"},
                   {"--checkpoint", TextTable::kRight},
                   {"--compare", TextTable::kRight},
                   {"difference", TextTable::kRight},
                   {"95 % of resamples", TextTable::kRight}});
  for (const ComparedMetric& metric : metrics) {
    table.add({metric.name, absl::StrFormat("%.6g", metric.first),
               absl::StrFormat("%.6g", metric.second),
               absl::StrFormat("%+.3g", metric.second - metric.first),
               absl::StrFormat("%+.3g to %+.3g", metric.low, metric.high)});
  }
  return table.text();
}

}  // namespace millrace
