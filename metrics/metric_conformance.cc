#include "metrics/metric_conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "metrics/metric_registry.h"
#include "metrics/ranged_metric.h"

namespace millrace {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double compute_all(const MakeMetric& make, const MetricExamples& examples) {
  std::unique_ptr<Metric> metric = make();
  metric->update(examples.all());
  return metric->compute();
}

// Ends of pieces of random lengths from 0 to 8 that cover [0, count).
std::vector<size_t> random_cuts(uint64_t seed, size_t count) {
  std::vector<size_t> ends;
  size_t end = 0;
  for (uint64_t i = 0; end < count; ++i) {
    end = std::min(count, end + philox64(seed, 17, i) % 9);
    ends.push_back(end);
  }
  return ends;
}

void expect_near(double value, double expected) {
  EXPECT_NEAR(value, expected, 1e-12 * std::max(1.0, std::abs(expected)));
}

void check_name(const MakeMetric& make) {
  const std::string name(make()->name());
  EXPECT_FALSE(name.empty());
  EXPECT_EQ(make()->name(), name);
}

void check_empty(const MakeMetric& make) {
  EXPECT_TRUE(std::isnan(make()->compute()));
  EXPECT_TRUE(std::isnan(compute_all(make, {})));
}

void check_cuts(const MakeMetric& make, const MetricExamples& examples) {
  const double expected = compute_all(make, examples);
  ASSERT_TRUE(std::isfinite(expected));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::unique_ptr<Metric> metric = make();
    size_t begin = 0;
    for (size_t end : random_cuts(seed, examples.predictions.size())) {
      metric->update(examples.slice(begin, end));
      begin = end;
    }
    EXPECT_EQ(metric->compute(), expected) << "seed " << seed;
  }
}

void check_compute(const MakeMetric& make, const MetricExamples& examples) {
  std::unique_ptr<Metric> metric = make();
  size_t begin = 0;
  for (size_t end : random_cuts(1, examples.predictions.size())) {
    metric->update(examples.slice(begin, end));
    begin = end;
    metric->compute();
  }
  const double expected = compute_all(make, examples);
  EXPECT_EQ(metric->compute(), expected);
  EXPECT_EQ(metric->compute(), expected) << "a second time";
}

void check_merge(const MakeMetric& make, const MetricExamples& examples) {
  const double expected = compute_all(make, examples);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::unique_ptr<Metric> total = make();
    size_t begin = 0;
    for (size_t end : random_cuts(seed, examples.predictions.size())) {
      std::unique_ptr<Metric> part = make();
      part->update(examples.slice(begin, end));
      begin = end;
      total->merge(*part);
    }
    expect_near(total->compute(), expected);
    total->merge(*make());
    expect_near(total->compute(), expected);
  }
}

void check_reset(const MakeMetric& make, const MetricExamples& examples) {
  std::unique_ptr<Metric> metric = make();
  const float nan[] = {kNan};
  const float one[] = {1};
  const int64_t group[] = {0};
  metric->update({.predictions = nan, .labels = one, .weights = {}, .groups = group});
  metric->update(examples.all());
  metric->reset();
  EXPECT_TRUE(std::isnan(metric->compute()));
  metric->update(examples.all());
  EXPECT_EQ(metric->compute(), compute_all(make, examples));
}

// Expects that weights above 0 do not matter.
void check_ignored_weights(const MakeMetric& make) {
  MetricExamples light = random_examples(5, 60, true), heavy = light;
  for (float& weight : heavy.weights) weight *= 3;
  expect_near(compute_all(make, heavy), compute_all(make, light));
  MetricExamples kept = {.weights = {}};
  for (size_t i = 0; i < light.predictions.size(); ++i) {
    if (light.weights[i] == 0) continue;
    kept.predictions.push_back(light.predictions[i]);
    kept.labels.push_back(light.labels[i]);
    kept.groups.push_back(light.groups[i]);
  }
  expect_near(compute_all(make, kept), compute_all(make, light));
}

void check_weights(const MakeMetric& make) {
  if (traits_of_metric(make()->name()).ignores_weights) return check_ignored_weights(make);
  const MetricExamples plain = random_examples(5, 60, false);
  MetricExamples ones = plain;
  ones.weights.assign(60, 1.0f);
  EXPECT_EQ(compute_all(make, ones), compute_all(make, plain));

  // Every third example twice, every third not at all, as weights and by hand.
  MetricExamples weighted = plain, repeated;
  for (size_t i = 0; i < 60; ++i) {
    weighted.weights.push_back(static_cast<float>(i % 3));
    for (size_t copy = 0; copy < i % 3; ++copy) {
      repeated.predictions.push_back(plain.predictions[i]);
      repeated.labels.push_back(plain.labels[i]);
      repeated.groups.push_back(plain.groups[i]);
    }
  }
  expect_near(compute_all(make, weighted), compute_all(make, repeated));

  MetricExamples nothing = plain;
  nothing.weights.assign(60, 0.0f);
  EXPECT_TRUE(std::isnan(compute_all(make, nothing)));
}

void check_not_a_number(const MakeMetric& make) {
  MetricExamples examples = random_examples(6, 20, false);
  examples.predictions[7] = kNan;
  std::unique_ptr<Metric> metric = make();
  metric->update(examples.all());
  EXPECT_TRUE(std::isnan(metric->compute()));
  std::unique_ptr<Metric> total = make();
  total->update(random_examples(7, 20, false).all());
  total->merge(*metric);
  EXPECT_TRUE(std::isnan(total->compute()));
}

std::unique_ptr<Metric> restored(const MakeMetric& make, const Metric& metric) {
  std::unique_ptr<Metric> copy = make();
  EXPECT_OK(copy->merge_saved(metric.save()));
  return copy;
}

void expect_same_bits(double value, double expected) {
  EXPECT_EQ(std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(expected))
      << value << " and " << expected;
}

void check_save(const MakeMetric& make, const MetricExamples& examples) {
  expect_same_bits(restored(make, *make())->compute(), make()->compute());
  const size_t count = examples.predictions.size();
  for (const size_t cut : {size_t{0}, size_t{1}, count / 3, count}) {
    std::unique_ptr<Metric> first = make(), second = make();
    first->update(examples.slice(0, cut));
    second->update(examples.slice(cut, count));
    std::unique_ptr<Metric> copy = restored(make, *first);
    EXPECT_EQ(copy->save(), first->save());
    expect_same_bits(copy->compute(), first->compute());
    EXPECT_OK(copy->merge_saved(second->save()));
    expect_near(copy->compute(), compute_all(make, examples));
    first->merge(*second);
    expect_same_bits(copy->compute(), first->compute());
    // A copy continues as the original would have.
    std::unique_ptr<Metric> further = make();
    further->update(examples.slice(0, cut));
    further = restored(make, *further);
    further->update(examples.slice(cut, count));
    expect_same_bits(further->compute(), compute_all(make, examples));
  }
}

// Expects that the metric merges the bytes, or refuses them and is unchanged.
void expect_taken_or_refused(const MakeMetric& make, const MetricExamples& examples,
                             const std::string& bytes) {
  std::unique_ptr<Metric> metric = make();
  metric->update(examples.all());
  metric->compute();  // which may sort the kept examples
  const std::string before = metric->save();
  const absl::Status status = metric->merge_saved(bytes);
  metric->compute();
  if (status.ok()) return;
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(metric->save(), before);
}

// Merges the metrics of all ranks as RangedMetric describes.
void merge_by_ranges(absl::Span<RangedMetric* const> ranks, size_t most) {
  std::vector<std::string> shares;
  for (RangedMetric* rank : ranks) shares.push_back(rank->save_share(most));
  for (RangedMetric* rank : ranks) {
    rank->begin_merge();
    for (const std::string& share : shares) EXPECT_OK(rank->merge_saved(share));
  }
  if (ranks[0]->is_partial()) {
    std::vector<std::vector<absl::string_view>> received(ranks.size());
    std::vector<std::vector<ByteBuffer>> sent(ranks.size());
    for (size_t from = 0; from < ranks.size(); ++from) {
      EXPECT_TRUE(std::isnan(ranks[from]->compute())) << "examples are missing";
      sent[from].resize(ranks.size());
      ranks[from]->write_ranges(static_cast<int>(from), absl::MakeSpan(sent[from]));
      for (size_t to = 0; to < ranks.size(); ++to) {
        if (to != from) received[to].push_back(ByteReader(sent[from][to].view()).read_string());
      }
    }
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_OK(ranks[rank]->read_ranges(received[rank]));
    }
    for (RangedMetric* root : ranks) {
      ByteWriter sums;
      root->add_range(&sums);
      for (RangedMetric* rank : ranks) {
        ByteReader reader(sums.bytes());
        EXPECT_OK(rank->read_sums(&reader));
        EXPECT_TRUE(reader.done());
      }
    }
  }
  for (RangedMetric* rank : ranks) rank->end_merge();
}

void check_ranges(const MakeMetric& make, const MetricExamples& examples) {
  if (dynamic_cast<RangedMetric*>(make().get()) == nullptr) return;
  const double expected = compute_all(make, examples);
  for (const size_t count : {1, 2, 5}) {
    for (const size_t most : {size_t{0}, size_t{50}, size_t{200}}) {
      SCOPED_TRACE(testing::Message() << count << " ranks gather " << most);
      std::vector<std::unique_ptr<Metric>> ranks;
      std::vector<RangedMetric*> ranged;
      for (size_t rank = 0; rank < count; ++rank) {
        ranks.push_back(make());
        ranged.push_back(dynamic_cast<RangedMetric*>(ranks.back().get()));
      }
      for (int merge = 0; merge < 2; ++merge) {
        for (size_t i = 0; i < examples.predictions.size(); ++i) {
          // Half of the examples are on rank 0, and none on rank 1.
          const size_t rank = philox64(count, 23, i) % (2 * count);
          ranks[rank < count && rank != 1 ? rank : 0]->update(examples.slice(i, i + 1));
        }
        merge_by_ranges(ranged, most);
        for (const auto& rank : ranks) {
          expect_same_bits(rank->compute(), expected);
          rank->reset();
        }
      }
    }
  }
}

void check_bad_bytes(const MakeMetric& make, const MetricExamples& examples) {
  std::unique_ptr<Metric> metric = make();
  metric->update(examples.all());
  const std::string bytes = metric->save();
  ASSERT_FALSE(bytes.empty()) << "save() of a metric with examples returned nothing";
  EXPECT_THAT(make()->merge_saved(""), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(make()->merge_saved(bytes + "x"), StatusIs(absl::StatusCode::kDataLoss));
  if (const auto* ranged = dynamic_cast<const RangedMetric*>(metric.get())) {
    const std::string share = ranged->save_share(0);
    for (size_t size = 0; size < share.size(); size += 61) {
      expect_taken_or_refused(make, examples, share.substr(0, size));
    }
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    expect_taken_or_refused(make, examples, bytes.substr(0, size));
  }
  for (uint64_t i = 0; i < 1000; ++i) {
    const PhiloxBlock bits = philox(i, 19, 0);
    std::string changed = bytes;
    changed[bits[0] % changed.size()] = static_cast<char>(bits[1]);
    expect_taken_or_refused(make, examples, changed);
    std::string random;
    for (size_t byte = 0; byte < bits[2] % 64; ++byte) {
      random.push_back(static_cast<char>(philox64(i, 20, byte)));
    }
    expect_taken_or_refused(make, examples, random);
  }
}

void check_saved_not_a_number(const MakeMetric& make) {
  MetricExamples examples = random_examples(8, 20, false);
  examples.predictions[3] = kNan;
  std::unique_ptr<Metric> metric = make();
  metric->update(examples.all());
  std::unique_ptr<Metric> total = make();
  total->update(random_examples(9, 20, false).all());
  EXPECT_OK(total->merge_saved(metric->save()));
  EXPECT_TRUE(std::isnan(total->compute()));
}

}  // namespace

MetricInput MetricExamples::slice(size_t begin, size_t end) const {
  MetricInput input;
  input.predictions = absl::MakeConstSpan(predictions).subspan(begin, end - begin);
  input.labels = absl::MakeConstSpan(labels).subspan(begin, end - begin);
  if (!weights.empty()) {
    input.weights = absl::MakeConstSpan(weights).subspan(begin, end - begin);
  }
  if (!groups.empty()) input.groups = absl::MakeConstSpan(groups).subspan(begin, end - begin);
  return input;
}

MetricExamples random_examples(uint64_t seed, size_t count, bool weighted) {
  MetricExamples examples;
  for (size_t i = 0; i < count; ++i) {
    const PhiloxBlock bits = philox(seed, 1, i);
    const float prediction = static_cast<float>(bits[0] % 31 + 1) / 32;
    float label = uniform24(bits[1]) < 0.5f * prediction + 0.1f ? 1.0f : 0.0f;
    if (i < 4) label = i % 2;
    examples.predictions.push_back(prediction);
    examples.labels.push_back(label);
    examples.groups.push_back(i < 4 ? 0 : static_cast<int64_t>(bits[3] % 5));
    if (weighted) examples.weights.push_back(i < 4 ? 1.0f : (bits[2] % 5) * 0.3f);
  }
  return examples;
}

std::vector<Property> metric_properties(const MakeMetric& make) {
  const auto property = properties_of(make);
  const auto of_examples = [&](const char* name, size_t count,
                               void (*check)(const MakeMetric&, const MetricExamples&)) {
    return Property{name, [=] {
                      for (const bool weighted : {false, true}) {
                        SCOPED_TRACE(weighted ? "with weights" : "without weights");
                        check(make, random_examples(count, count, weighted));
                      }
                    }};
  };
  return {
      property("HasAName", check_name),
      property("IsUndefinedWithoutExamples", check_empty),
      of_examples("DoesNotDependOnCuts", 200, check_cuts),
      of_examples("ComputeChangesNothing", 200, check_compute),
      of_examples("MergesLikeOnePass", 200, check_merge),
      of_examples("IsNewAfterReset", 200, check_reset),
      of_examples("ContinuesFromSavedBytes", 200, check_save),
      of_examples("MergesByRanges", 200, check_ranges),
      of_examples("RefusesDamagedBytes", 20, check_bad_bytes),
      property("CountsExamplesByWeight", check_weights),
      property("KeepsNotANumber", check_not_a_number),
      property("KeepsSavedNotANumber", check_saved_not_a_number),
  };
}

bool register_metric_conformance(const std::string& suite, const MakeMetric& make,
                                 std::source_location place) {
  return register_properties(suite, metric_properties(make), place);
}

}  // namespace millrace
