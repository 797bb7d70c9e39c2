#include "framework/report/reported_values.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/random/philox.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Values = std::map<std::string, double>;

double reduced(Reduction reduction, const std::vector<double>& values) {
  ReportedValues reported;
  for (double value : values) reported.add("x", value, reduction);
  Values drained;
  reported.drain(&drained);
  return drained.at("x");
}

TEST(ReportedValuesTest, Reductions) {
  const std::vector<double> values = {3, -1, 7, 2};
  EXPECT_EQ(reduced(Reduction::kMean, values), 2.75);
  EXPECT_EQ(reduced(Reduction::kSum, values), 11);
  EXPECT_EQ(reduced(Reduction::kMin, values), -1);
  EXPECT_EQ(reduced(Reduction::kMax, values), 7);
  EXPECT_EQ(reduced(Reduction::kLast, values), 2);
}

TEST(ReportedValuesTest, OneValueIsItself) {
  for (const Reduction reduction :
       {Reduction::kMean, Reduction::kSum, Reduction::kMin, Reduction::kMax, Reduction::kLast}) {
    EXPECT_EQ(reduced(reduction, {-5}), -5);
  }
}

TEST(ReportedValuesTest, NotANumberIsNeverHidden) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Reduction reduction :
       {Reduction::kMean, Reduction::kSum, Reduction::kMin, Reduction::kMax}) {
    EXPECT_TRUE(std::isnan(reduced(reduction, {nan, 1})));
    EXPECT_TRUE(std::isnan(reduced(reduction, {1, nan})));
    EXPECT_TRUE(std::isnan(reduced(reduction, {1, nan, 2})));
  }
  EXPECT_EQ(reduced(Reduction::kLast, {nan, 1}), 1);
}

TEST(ReportedValuesTest, DrainForgetsAndKeepsOthers) {
  ReportedValues reported;
  reported.add("b", 1, Reduction::kSum);
  reported.add("a", 2, Reduction::kSum);
  Values values = {{"b", 100}, {"c", 3}};
  reported.drain(&values);
  EXPECT_THAT(values, ElementsAre(Pair("a", 2), Pair("b", 1), Pair("c", 3)));
  Values none;
  reported.drain(&none);
  EXPECT_THAT(none, IsEmpty());
}

TEST(ReportedValuesTest, TheFirstReductionStays) {
  ReportedValues reported;
  reported.add("x", 1, Reduction::kMax);
  reported.add("x", 5, Reduction::kSum);
  Values values;
  reported.drain(&values);
  EXPECT_EQ(values["x"], 5);
  // The first reduction of a name counts only until drain().
  reported.add("x", 1, Reduction::kSum);
  reported.add("x", 5, Reduction::kMax);
  reported.drain(&values);
  EXPECT_EQ(values["x"], 6);
}

// Returns the values that load_ranks() produces from the values of each rank.
absl::StatusOr<Values> loaded(const std::vector<const ReportedValues*>& ranks) {
  std::vector<std::string> saved;
  for (const ReportedValues* rank : ranks) saved.push_back(rank->save());
  ReportedValues merged;
  merged.add("of_before", 1, Reduction::kSum);
  RETURN_IF_ERROR(merged.load_ranks(std::vector<absl::string_view>(saved.begin(), saved.end())));
  Values values;
  merged.drain(&values);
  return values;
}

TEST(ReportedValuesTest, OverRanksAllValuesCount) {
  ReportedValues one, two, none;
  for (const Reduction reduction :
       {Reduction::kMean, Reduction::kSum, Reduction::kMin, Reduction::kMax, Reduction::kLast}) {
    const absl::string_view name = reduction_name(reduction);
    for (const double value : {4.0, 1.0, 3.0}) one.add(name, value, reduction);
    two.add(name, 8, reduction);
  }
  const auto expected = ElementsAre(Pair("last", 3), Pair("max", 8), Pair("mean", 4),
                                    Pair("min", 1), Pair("sum", 16));
  EXPECT_THAT(*loaded({&one, &two, &none}), expected);
  EXPECT_THAT(*loaded({&none, &one, &two}), expected);
  EXPECT_EQ(loaded({&two, &one})->at("last"), 8) << "that of the lowest rank that has one";
}

TEST(ReportedValuesTest, OverRanksNamesAreTheUnion) {
  ReportedValues one, two;
  one.add("a", 1, Reduction::kMean);
  two.add("b", 2, Reduction::kLast);
  EXPECT_THAT(*loaded({&one, &two}), ElementsAre(Pair("a", 1), Pair("b", 2)));
}

TEST(ReportedValuesTest, OverRanksNotANumberIsNotHidden) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Reduction reduction :
       {Reduction::kMean, Reduction::kSum, Reduction::kMin, Reduction::kMax}) {
    ReportedValues one, two;
    one.add("x", 1, reduction);
    two.add("x", nan, reduction);
    EXPECT_TRUE(std::isnan(loaded({&one, &two})->at("x")));
    EXPECT_TRUE(std::isnan(loaded({&two, &one})->at("x")));
  }
}

TEST(ReportedValuesTest, OverRanksReductionsMustAgree) {
  ReportedValues none, one, two;
  one.add("clicks", 1, Reduction::kSum);
  two.add("clicks", 1, Reduction::kMean);
  EXPECT_THAT(loaded({&none, &one, &two}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"clicks\""), HasSubstr("sum by rank 1"),
                             HasSubstr("mean by rank 2"))));
}

TEST(ReportedValuesTest, BytesThatAreNone) {
  ReportedValues reported;
  reported.add("clicks", 1, Reduction::kSum);
  reported.add("margin", 2, Reduction::kMean);
  const std::string good = reported.save();
  ReportedValues merged;
  for (size_t size = 0; size < good.size(); ++size) {
    const absl::Status status = merged.load_ranks({good, absl::string_view(good).substr(0, size)});
    // Bytes that end between two values are valid.
    if (status.ok()) continue;
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("rank 1"))) << size;
    Values values;
    merged.drain(&values);
    EXPECT_THAT(values, IsEmpty()) << "nothing is kept";
  }
  for (uint64_t i = 0; i < 2000; ++i) {
    const PhiloxBlock bits = philox(i, 3, 0);
    std::string changed = good;
    changed[bits[0] % changed.size()] = static_cast<char>(bits[1]);
    const absl::Status status = merged.load_ranks({changed});
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
  }
  EXPECT_THAT(merged.load_ranks({""}), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(merged.load_ranks({good + good.substr(1)}), StatusIs(absl::StatusCode::kDataLoss))
      << "a name twice";
}

}  // namespace
}  // namespace millrace
