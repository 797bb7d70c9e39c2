// Compares metrics with scikit-learn: testdata/references.txt, written by make_references.py.

#include <google/protobuf/text_format.h>

#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status_matchers.h"
#include "metrics/auc_buckets.h"
#include "metrics/metric.h"
#include "metrics/metric_conformance.h"
#include "metrics/metric_registry.h"

namespace millrace {
namespace {

constexpr char kFile[] = "metrics/testdata/references.txt";
constexpr double kTolerance = 1e-9;

struct ReferenceCase {
  std::string name;
  MetricExamples examples;
  std::vector<std::pair<CustomConfig, double>> values;  // by configuration of the metric
};

// Reads the numbers of "WORD NUMBER...", and none of "WORD -".
template <typename T>
std::vector<T> read_numbers(const std::string& line, bool (*read)(absl::string_view, T*)) {
  std::vector<T> numbers;
  const std::vector<std::string> cells = absl::StrSplit(line, ' ');
  if (cells[1] == "-") return numbers;
  for (size_t i = 1; i < cells.size(); ++i) {
    EXPECT_TRUE(read(cells[i], &numbers.emplace_back())) << line;
  }
  return numbers;
}

// Reads "value NUMBER CONFIGURATION".
std::pair<CustomConfig, double> read_value(const std::string& line) {
  const std::vector<std::string> cells = absl::StrSplit(line, absl::MaxSplits(' ', 2));
  std::pair<CustomConfig, double> value;
  EXPECT_TRUE(absl::SimpleAtod(cells[1], &value.second)) << line;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(cells[2], &value.first)) << line;
  return value;
}

std::vector<ReferenceCase> read_cases() {
  std::vector<ReferenceCase> cases;
  std::ifstream file(kFile);
  std::string line;
  while (std::getline(file, line)) {
    const std::string word = line.substr(0, line.find(' '));
    if (word == "#") continue;
    if (word == "case") {
      cases.emplace_back().name = line.substr(word.size() + 1);
      continue;
    }
    MetricExamples& examples = cases.back().examples;
    if (word == "predictions") examples.predictions = read_numbers<float>(line, absl::SimpleAtof);
    if (word == "labels") examples.labels = read_numbers<float>(line, absl::SimpleAtof);
    if (word == "weights") examples.weights = read_numbers<float>(line, absl::SimpleAtof);
    if (word == "groups") examples.groups = read_numbers<int64_t>(line, absl::SimpleAtoi<int64_t>);
    if (word == "value") cases.back().values.push_back(read_value(line));
  }
  return cases;
}

// Returns how far a metric may be from its reference.
double tolerance_of(const Metric& metric) {
  const auto* const buckets = dynamic_cast<const AucBucketsMetric*>(&metric);
  return kTolerance + (buckets == nullptr ? 0 : buckets->error_bound());
}

class MetricReferencesTest : public testing::TestWithParam<ReferenceCase> {};

TEST_P(MetricReferencesTest, Agree) {
  const ReferenceCase& reference = GetParam();
  EXPECT_GE(reference.values.size(), 4);
  for (const auto& [config, expected] : reference.values) {
    SCOPED_TRACE(config.ShortDebugString());
    CustomConfig message = config;
    message.set_name(registered_metric_name(config.name()));
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Metric> metric, create_metric(config.name(), {message}));
    metric->update(reference.examples.all());
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(metric->compute())) << metric->compute();
    } else {
      EXPECT_NEAR(metric->compute(), expected, tolerance_of(*metric));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MetricReferencesTest, testing::ValuesIn(read_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(MetricReferenceFileTest, HasEveryMetric) {
  std::set<std::string> names;
  for (const ReferenceCase& reference : read_cases()) {
    for (const auto& [config, value] : reference.values) {
      names.insert(registered_metric_name(config.name()));
    }
  }
  for (const std::string& name : metric_names()) {
    EXPECT_EQ(names.count(name), 1) << name << ": add it to make_references.py";
  }
}

}  // namespace
}  // namespace millrace
