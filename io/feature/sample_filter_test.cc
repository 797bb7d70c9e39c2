#include "io/feature/sample_filter.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kRows = 20000;

SampleConfig parse(const char* text) {
  SampleConfig sample;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &sample)) << text;
  return sample;
}

SampleFilter filter(const char* text, uint64_t seed = 1) {
  return *SampleFilter::create(parse(text), {"click", "buy"}, seed);
}

// Rows of which every fourth has label 1, each of weight 2.
struct Rows {
  explicit Rows(int64_t count = kRows, int64_t first = 0)
      : numbers(count), labels(count), keep(count, 1), weights(count, 2) {
    std::iota(numbers.begin(), numbers.end(), first);
    for (int64_t row = 0; row < count; ++row) labels[row] = (first + row) % 4 == 0 ? 1 : 0;
  }
  absl::Status apply(const SampleFilter& filter, int64_t epoch = 0, bool skip = false) {
    BadRows bad(static_cast<int64_t>(numbers.size()), skip);
    const absl::Status status =
        filter.apply(epoch, {numbers, labels, absl::MakeSpan(keep), absl::MakeSpan(weights)},
                     {.path = "a.csv", .column = "click"}, bad);
    bad_rows = bad.count();
    return status;
  }
  // Of those with this label.
  int64_t kept(float label) const {
    int64_t count = 0;
    for (size_t row = 0; row < keep.size(); ++row) count += labels[row] == label ? keep[row] : 0;
    return count;
  }

  std::vector<int64_t> numbers;
  std::vector<float> labels;
  std::vector<uint8_t> keep;
  std::vector<float> weights;
  int64_t bad_rows = 0;
};

// Five standard deviations of a binomial distribution.
double bound(double rows, double rate) { return 5 * std::sqrt(rows * rate * (1 - rate)); }

TEST(SampleFilterTest, KeepsItsShare) {
  for (const uint64_t seed : {1, 2, 3}) {
    Rows half;
    ASSERT_OK(half.apply(filter("rate: 0.5", seed)));
    EXPECT_NEAR(half.kept(0) + half.kept(1), kRows * 0.5, bound(kRows, 0.5));
    EXPECT_THAT(half.weights, Each(2)) << "rate corrects nothing";
    Rows both;
    ASSERT_OK(both.apply(filter("rate: 0.5 negative_rate: 0.2", seed)));
    EXPECT_NEAR(both.kept(1), kRows / 4 * 0.5, bound(kRows / 4, 0.5));
    EXPECT_NEAR(both.kept(0), kRows * 3 / 4 * 0.1, bound(kRows * 3 / 4, 0.1));
  }
}

TEST(SampleFilterTest, WhatALowRateKeepsAHigherOneKeepsToo) {
  Rows low, high;
  ASSERT_OK(low.apply(filter("negative_rate: 0.1")));
  ASSERT_OK(high.apply(filter("negative_rate: 0.3")));
  for (int64_t row = 0; row < kRows; ++row) EXPECT_LE(low.keep[row], high.keep[row]);
  EXPECT_EQ(low.kept(1), kRows / 4);
}

TEST(SampleFilterTest, DependsOnSeedEpochAndRowAlone) {
  Rows all;
  ASSERT_OK(all.apply(filter("rate: 0.5"), 7));
  Rows part(100, 5000);
  ASSERT_OK(part.apply(filter("rate: 0.5"), 7));
  EXPECT_TRUE(std::equal(part.keep.begin(), part.keep.end(), all.keep.begin() + 5000));
  for (const auto& [seed, epoch] : {std::pair(1, 8), std::pair(2, 7)}) {
    Rows other;
    ASSERT_OK(other.apply(filter("rate: 0.5", seed), epoch));
    int64_t equal = 0;
    for (int64_t row = 0; row < kRows; ++row) equal += other.keep[row] == all.keep[row];
    EXPECT_NEAR(equal, kRows / 2, bound(kRows, 0.5)) << "independent";
  }
  Rows first, later;
  ASSERT_OK(first.apply(filter("rate: 0.5 resample: false"), 0));
  ASSERT_OK(later.apply(filter("rate: 0.5 resample: false"), 9));
  EXPECT_EQ(first.keep, later.keep);
}

TEST(SampleFilterTest, WeightsOfThoseKeptStandForThoseLeftOut) {
  Rows rows;
  ASSERT_OK(rows.apply(filter("negative_rate: 0.25")));
  double sum = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    if (rows.keep[row] == 0) continue;
    EXPECT_EQ(rows.weights[row], rows.labels[row] == 0 ? 8 : 2);
    if (rows.labels[row] == 0) sum += rows.weights[row];
  }
  const double negatives = kRows * 3 / 4;
  EXPECT_NEAR(sum, 2 * negatives, 8 * bound(negatives, 0.25));
  Rows raw;
  ASSERT_OK(raw.apply(filter("negative_rate: 0.25 correct_weights: false")));
  EXPECT_EQ(raw.keep, rows.keep);
  EXPECT_THAT(raw.weights, Each(2));
}

TEST(SampleFilterTest, RowsThatAreLeftOutOrBadStayAsTheyAre) {
  Rows rows(4);
  rows.keep[1] = 0;
  rows.labels[1] = 7;  // nobody asks
  rows.labels[2] = 0.5;
  EXPECT_THAT(rows.apply(filter("negative_rate: 0.999999")),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a.csv, row 2, column click: label 0.5"),
                             HasSubstr("sample.negative_rate needs 0 or 1"))));
  ASSERT_OK(rows.apply(filter("negative_rate: 0.999999"), 0, /*skip=*/true));
  EXPECT_EQ(rows.bad_rows, 1);
  EXPECT_THAT(rows.keep, ElementsAre(1, 0, 1, 1)) << "a bad row is counted";
  ASSERT_OK(rows.apply(filter("rate: 0.999999"))) << "labels are not looked at";
}

TEST(SampleFilterTest, AMissingLabelIsNoNegative) {
  Rows rows(4);
  for (float& label : rows.labels) label = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> weights = rows.weights;
  ASSERT_OK(rows.apply(filter("negative_rate: 1e-9")));
  EXPECT_THAT(rows.keep, Each(1));
  EXPECT_EQ(rows.weights, weights);
  ASSERT_OK(rows.apply(filter("rate: 1e-9 negative_rate: 0.5")));
  EXPECT_THAT(rows.keep, Each(0)) << "rate is for all examples";
}

TEST(SampleFilterTest, WhatItIsMadeOf) {
  EXPECT_TRUE(filter("").takes_all());
  EXPECT_FALSE(filter("rate: 0.5").takes_all());
  EXPECT_FALSE(filter("rate: 0.5").needs_label());
  EXPECT_FALSE(filter("negative_rate: 0.5").takes_all());
  EXPECT_TRUE(filter("negative_rate: 0.5").corrects_weights());
  EXPECT_FALSE(filter("negative_rate: 0.5 correct_weights: false").corrects_weights());
  EXPECT_EQ(filter("").label(), 0);
  EXPECT_EQ(filter("label: 'buy'").label(), 1);
  const auto fails = [](const char* text, const char* what) {
    EXPECT_THAT(SampleFilter::create(parse(text), {"click", "buy"}, 1),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  fails("rate: 0", "sample: rate is 0");
  fails("rate: nan", "sample: rate is nan");
  fails("negative_rate: 1.5", "negative_rate is 1.5");
  fails("label: 'bye'", "no label \"bye\"");
}

absl::Status check(const char* text) {
  SampleConfig sample;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &sample)) << text;
  return check_sample("here", sample, {"click", "buy"});
}

class GoodTest : public testing::TestWithParam<const char*> {};
TEST_P(GoodTest, IsTaken) { EXPECT_OK(check(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Samples, GoodTest,
                         testing::Values("", "rate: 1 negative_rate: 1", "rate: 0.001",
                                         "negative_rate: 1e-6 correct_weights: false",
                                         "negative_rate: 0.1 label: 'buy' resample: false"));

class BadTest : public testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(BadTest, IsAnErrorThatSaysWhat) {
  EXPECT_THAT(check(GetParam().first),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("here"), HasSubstr(GetParam().second))));
}
using Case = std::pair<const char*, const char*>;
INSTANTIATE_TEST_SUITE_P(
    Samples, BadTest,
    testing::Values(Case{"rate: 0", "rate is 0; must be above 0 and at most 1"},
                    Case{"negative_rate: 0", "negative_rate is 0"},
                    Case{"label: 'clicks'", "no label \"clicks\"; did you mean \"click\"?"},
                    Case{"label: 'user'", "no label \"user\""}));

}  // namespace
}  // namespace millrace
