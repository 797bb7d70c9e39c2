#include "metrics/grouped/grouped_metric.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/byte_stream.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kLeastGroup = std::numeric_limits<int64_t>::min();

// The value of a group is its highest prediction, its weight the number of its examples. Groups of
// one are left out.
class Highest : public GroupedMetric {
 public:
  absl::string_view name() const override { return "highest"; }
  // The examples of each group that compute() met, in its order.
  mutable std::vector<std::vector<GroupedExample>> met;

 protected:
  void set_values(const MetricInput& input, absl::Span<float> values) const override {
    for (size_t i = 0; i < values.size(); ++i) values[i] = input.labels[i] + 10;
  }
  bool is_kept(float value) const override { return value >= 10; }
  std::optional<GroupResult> compute_group(
      absl::Span<const GroupedExample> examples) const override {
    met.emplace_back(examples.begin(), examples.end());
    if (examples.size() == 1) return std::nullopt;
    return GroupResult{examples.back().prediction, static_cast<double>(examples.size())};
  }
};

double compute(const MetricExamples& examples) {
  Highest metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(GroupedMetricTest, ByHand) {
  // Group 7 has 3 examples, the highest 0.75; group -7 has 2, the highest 0.5; group 1 has one.
  const MetricExamples examples = {
      {0.25f, 0.5f, 0.75f, 1, 0.5f, 0.25f}, {0, 0, 0, 0, 0, 0}, {}, {7, -7, 7, 1, 7, -7}};
  EXPECT_DOUBLE_EQ(compute(examples), (3 * 0.75 + 2 * 0.5) / 5);
}

TEST(GroupedMetricTest, GroupsAndTheirExamplesAreSorted) {
  Highest metric;
  metric.update(
      MetricExamples{{0.5f, 0.75f, 0.5f, 0.25f}, {3, 0, 1, 2}, {}, {4, 4, 4, kLeastGroup}}.all());
  metric.compute();
  ASSERT_EQ(metric.met.size(), 2);
  const size_t of_least = metric.met[0].size() == 1 ? 0 : 1;
  EXPECT_EQ(metric.met[of_least][0].group, kLeastGroup);
  const std::vector<GroupedExample>& other = metric.met[1 - of_least];
  ASSERT_EQ(other.size(), 3);
  EXPECT_EQ(other[0].value, 11) << "equal predictions are sorted by value";
  EXPECT_EQ(other[1].value, 13);
  EXPECT_EQ(other[2].prediction, 0.75f);
}

// Enough groups that more than a thousand share a hash with another group.
TEST(GroupedMetricTest, GroupsOfOneHashAreNotMixed) {
  constexpr size_t kGroups = 100000, kExamples = 3 * kGroups;
  MetricExamples examples;
  for (size_t i = 0; i < kExamples; ++i) {
    examples.groups.push_back(static_cast<int64_t>(i % kGroups) - 1000);
    examples.predictions.push_back(static_cast<float>(philox64(1, 1, i) % 4) / 4);
    examples.labels.push_back(static_cast<float>(philox64(2, 1, i) % 3));
  }
  Highest metric;
  metric.update(examples.all());
  metric.compute();
  EXPECT_EQ(metric.met.size(), kGroups);
  for (const std::vector<GroupedExample>& group : metric.met) {
    ASSERT_EQ(group.size(), 3);
    for (size_t i = 1; i < 3; ++i) {
      ASSERT_EQ(group[i].group, group[0].group);
      ASSERT_LE(std::tie(group[i - 1].prediction, group[i - 1].value),
                std::tie(group[i].prediction, group[i].value));
    }
  }
}

TEST(GroupedMetricTest, Undefined) {
  EXPECT_TRUE(std::isnan(compute({})));
  EXPECT_TRUE(std::isnan(compute({{0.5f, 0.5f}, {0, 0}, {}, {1, 2}}))) << "each group is left out";
  EXPECT_TRUE(std::isnan(compute({{0.5f, 0.5f}, {0, 0}, {}}))) << "no groups";
  EXPECT_TRUE(std::isnan(compute({{0.5f, kNan}, {0, 0}, {}, {1, 1}})));
  EXPECT_TRUE(std::isnan(compute({{0.5f, 0.5f}, {0, kNan}, {}, {1, 1}})));
  EXPECT_EQ(compute({{0.5f, 0.25f, kNan}, {0, 0, 0}, {1, 1, 0}, {1, 1, 1}}), 0.5) << "of weight 0";
}

TEST(GroupedMetricTest, ExamplesAreSixteenBytes) {
  ByteWriter writer;
  write_example({-5, 0.25f, 2}, &writer);
  const std::string bytes = writer.take();
  EXPECT_EQ(bytes.size(), GroupedExample::kSavedBytes);
  ByteReader reader(bytes);
  GroupedExample example;
  ASSERT_TRUE(read_example(&reader, &example));
  EXPECT_EQ(example.group, -5);
  EXPECT_EQ(example.prediction, 0.25f);
  EXPECT_EQ(example.value, 2);
}

TEST(GroupedMetricTest, BytesThatNoExampleHasAreRefused) {
  for (const GroupedExample& example : {GroupedExample{1, kNan, 10}, {1, 0.5f, kNan}}) {
    ByteWriter writer;
    write_example(example, &writer);
    const std::string bytes = writer.take();
    ByteReader reader(bytes);
    GroupedExample read;
    EXPECT_FALSE(read_example(&reader, &read));
  }
  // A value below 10 is one that set_values() never writes for these labels.
  Highest from, into;
  from.update(MetricExamples{{0.5f}, {-1}, {}, {1}}.all());
  EXPECT_THAT(into.merge_saved(from.save()), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace millrace
