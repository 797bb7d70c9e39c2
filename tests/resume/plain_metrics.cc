#include "tests/resume/plain_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace millrace {
namespace {

using Examples = std::vector<PlainExample>;
// Maps labels in the order of a ranking, and a cutoff, to a value.
using RankingValue = std::function<double(const std::vector<double>& labels, size_t cutoff)>;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr int kCalibrationBuckets = 20;
constexpr size_t kNoCutoff = std::numeric_limits<size_t>::max();

bool is_positive(double label) { return label > 0.5; }

// Returns the sum over examples of weight times `value`.
double sum(const Examples& examples, const std::function<double(const PlainExample&)>& value) {
  double total = 0;
  for (const PlainExample& example : examples) total += example.weight * value(example);
  return total;
}

double weight_of(const Examples& examples) {
  return sum(examples, [](const PlainExample&) { return 1.0; });
}

double mean(const Examples& examples, const std::function<double(const PlainExample&)>& value) {
  return sum(examples, value) / weight_of(examples);
}

double auc(const Examples& examples) {
  double right = 0, pairs = 0;
  for (const PlainExample& positive : examples) {
    if (!is_positive(positive.label)) continue;
    for (const PlainExample& negative : examples) {
      if (is_positive(negative.label)) continue;
      const double weight = positive.weight * negative.weight;
      pairs += weight;
      if (positive.prediction > negative.prediction) right += weight;
      if (positive.prediction == negative.prediction) right += weight / 2;
    }
  }
  return right / pairs;
}

double pr_auc(const Examples& examples) {
  std::set<double, std::greater<>> thresholds;
  for (const PlainExample& example : examples) thresholds.insert(example.prediction);
  const double positives =
      sum(examples, [](const PlainExample& e) { return is_positive(e.label) ? 1.0 : 0.0; });
  double area = 0, recall_before = 0;
  for (const double threshold : thresholds) {
    double found = 0, decided = 0;
    for (const PlainExample& example : examples) {
      if (example.prediction < threshold) continue;
      decided += example.weight;
      if (is_positive(example.label)) found += example.weight;
    }
    if (decided == 0) continue;
    area += (found / positives - recall_before) * found / decided;
    recall_before = found / positives;
  }
  return positives == 0 ? kNone : area;
}

double cross_entropy(double label, double prediction) {
  const double p = std::clamp(prediction, 1e-7, 1 - 1e-7);
  return -label * std::log(p) - (1 - label) * std::log(1 - p);
}

double logloss(const Examples& examples) {
  return mean(examples, [](const PlainExample& e) { return cross_entropy(e.label, e.prediction); });
}

double normalized_entropy(const Examples& examples) {
  const double rate = mean(examples, [](const PlainExample& e) { return e.label; });
  if (rate == 0 || rate == 1) return kNone;
  return logloss(examples) / (-rate * std::log(rate) - (1 - rate) * std::log(1 - rate));
}

double calibration(const Examples& examples) {
  const double labels = sum(examples, [](const PlainExample& e) { return e.label; });
  if (labels == 0) return kNone;
  return sum(examples, [](const PlainExample& e) { return e.prediction; }) / labels;
}

double calibration_error(const Examples& examples) {
  double error = 0;
  for (int bucket = 0; bucket < kCalibrationBuckets; ++bucket) {
    error += std::fabs(sum(examples, [&](const PlainExample& e) {
      const bool inside = std::floor(e.prediction * kCalibrationBuckets) == bucket;
      return inside ? e.prediction - e.label : 0.0;
    }));
  }
  return error / weight_of(examples);
}

// Weights by decision and label.
struct Decisions {
  double true_positive = 0, false_positive = 0, false_negative = 0, true_negative = 0;
};

Decisions decide(const Examples& examples) {
  Decisions decisions;
  for (const PlainExample& example : examples) {
    const bool decided = example.prediction >= 0.5, given = is_positive(example.label);
    double& cell = decided ? (given ? decisions.true_positive : decisions.false_positive)
                           : (given ? decisions.false_negative : decisions.true_negative);
    cell += example.weight;
  }
  return decisions;
}

double squared_error(const Examples& examples) {
  return mean(examples, [](const PlainExample& e) { return std::pow(e.prediction - e.label, 2); });
}

std::map<int64_t, Examples> by_group(const Examples& examples) {
  std::map<int64_t, Examples> groups;
  for (const PlainExample& example : examples) {
    if (example.weight > 0) groups[example.group].push_back(example);
  }
  return groups;
}

double grouped_auc(const Examples& examples) {
  double total = 0, weights = 0;
  for (const auto& [group, own] : by_group(examples)) {
    const double value = auc(own), weight = weight_of(own);
    if (std::isnan(value)) continue;
    total += weight * value;
    weights += weight;
  }
  return weights == 0 ? kNone : total / weights;
}

// Calls `visit` with the labels of each order of `ranked` that differs only in ties. Keeps the
// order of examples before `begin`.
void each_order(Examples& ranked, size_t begin,
                const std::function<void(const std::vector<double>&)>& visit) {
  if (begin == ranked.size()) {
    std::vector<double> labels;
    for (const PlainExample& example : ranked) labels.push_back(example.label);
    visit(labels);
    return;
  }
  // Each example of the tie is first once.
  for (size_t i = begin; i < ranked.size(); ++i) {
    if (ranked[i].prediction != ranked[begin].prediction) break;
    std::swap(ranked[begin], ranked[i]);
    each_order(ranked, begin + 1, visit);
    std::swap(ranked[begin], ranked[i]);
  }
}

double ranked(const Examples& examples, size_t cutoff, const RankingValue& value) {
  double total = 0;
  int groups = 0;
  for (auto& [group, own] : by_group(examples)) {
    Examples sorted = own;
    std::sort(sorted.begin(), sorted.end(), [](const PlainExample& a, const PlainExample& b) {
      return a.prediction > b.prediction;
    });
    if (std::none_of(sorted.begin(), sorted.end(),
                     [](const PlainExample& e) { return is_positive(e.label); })) {
      continue;
    }
    double values = 0;
    int orders = 0;
    each_order(sorted, 0, [&](const std::vector<double>& labels) {
      values += value(labels, std::min(cutoff, labels.size()));
      ++orders;
    });
    total += values / orders;
    ++groups;
  }
  return total / groups;
}

size_t relevant(const std::vector<double>& labels, size_t first) {
  return std::count_if(labels.begin(), labels.begin() + static_cast<ptrdiff_t>(first), is_positive);
}

double recall_at(const std::vector<double>& labels, size_t cutoff) {
  return static_cast<double>(relevant(labels, cutoff)) /
         static_cast<double>(relevant(labels, labels.size()));
}

double hit_rate_at(const std::vector<double>& labels, size_t cutoff) {
  return relevant(labels, cutoff) > 0 ? 1 : 0;
}

double average_precision_at(const std::vector<double>& labels, size_t cutoff) {
  double total = 0;
  for (size_t i = 0; i < cutoff; ++i) {
    if (!is_positive(labels[i])) continue;
    total += static_cast<double>(relevant(labels, i + 1)) / static_cast<double>(i + 1);
  }
  return total / static_cast<double>(std::min(cutoff, relevant(labels, labels.size())));
}

double reciprocal_rank(const std::vector<double>& labels, size_t cutoff) {
  for (size_t i = 0; i < cutoff; ++i) {
    if (is_positive(labels[i])) return 1 / static_cast<double>(i + 1);
  }
  return 0;
}

double gain_at(const std::vector<double>& labels, size_t cutoff) {
  double gain = 0;
  for (size_t i = 0; i < cutoff; ++i) gain += labels[i] / std::log2(static_cast<double>(i) + 2);
  return gain;
}

double ndcg_at(const std::vector<double>& labels, size_t cutoff) {
  std::vector<double> best = labels;
  std::sort(best.begin(), best.end(), std::greater<>());
  return gain_at(labels, cutoff) / gain_at(best, cutoff);
}

// Returns the metrics by their name without a cutoff.
const std::map<std::string, RankingValue>& ranking_values() {
  static const auto* const kValues = new std::map<std::string, RankingValue>{
      {"ndcg", ndcg_at},         {"recall", recall_at},
      {"hit_rate", hit_rate_at}, {"map", average_precision_at},
      {"mrr", reciprocal_rank},
  };
  return *kValues;
}

std::optional<double> threshold_metric(absl::string_view name, const Examples& examples) {
  const auto [tp, fp, fn, tn] = decide(examples);
  if (name == "accuracy") return (tp + tn) / (tp + fp + fn + tn);
  if (name == "precision") return tp / (tp + fp);
  if (name == "recall") return tp / (tp + fn);
  if (name == "f1") return 2 * tp / (2 * tp + fp + fn);
  return std::nullopt;
}

}  // namespace

std::optional<double> plain_metric(absl::string_view name, const Examples& examples) {
  const std::vector<std::string> parts = absl::StrSplit(name, '@');
  if (parts.size() == 2 || name == "mrr") {
    const auto found = ranking_values().find(parts[0]);
    size_t cutoff = kNoCutoff;
    const bool known = parts.size() == 1 || absl::SimpleAtoi(parts[1], &cutoff);
    if (!known || found == ranking_values().end()) return std::nullopt;
    return ranked(examples, cutoff, found->second);
  }
  if (name == "auc" || name == "auc_buckets") return auc(examples);
  if (name == "pr_auc") return pr_auc(examples);
  if (name == "gauc") return grouped_auc(examples);
  if (name == "logloss") return logloss(examples);
  if (name == "ne") return normalized_entropy(examples);
  if (name == "calibration") return calibration(examples);
  if (name == "calibration_error") return calibration_error(examples);
  if (name == "mse") return squared_error(examples);
  if (name == "rmse") return std::sqrt(squared_error(examples));
  if (name == "mae") {
    return mean(examples, [](const PlainExample& e) { return std::fabs(e.prediction - e.label); });
  }
  if (name == "mean") return mean(examples, [](const PlainExample& e) { return e.prediction; });
  return threshold_metric(name, examples);
}

double plain_buckets_bound(int64_t buckets, const Examples& examples) {
  std::map<double, std::pair<double, double>> weights;  // of positives and negatives, by bucket
  double positives = 0, negatives = 0;
  for (const PlainExample& example : examples) {
    auto& [own_positives, own_negatives] =
        weights[std::ceil(example.prediction * static_cast<double>(buckets))];
    (is_positive(example.label) ? own_positives : own_negatives) += example.weight;
    (is_positive(example.label) ? positives : negatives) += example.weight;
  }
  double bound = 0;
  for (const auto& [bucket, own] : weights) bound += own.first * own.second;
  return bound / (2 * positives * negatives);
}

}  // namespace millrace
