#include "embedding/policies/eviction.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <limits>
#include <random>
#include <tuple>

#include "base/hash.h"
#include "base/status_matchers.h"
#include "embedding/policies/eviction_registry.h"

namespace millrace {
namespace {

using testing::HasSubstr;
constexpr std::optional<EvictionReason> kStays = std::nullopt;

EvictionRules rules(const std::string& text) {
  EvictionConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  absl::StatusOr<EvictionRules> rules = EvictionRules::create(config, "items");
  EXPECT_OK(rules);
  return *std::move(rules);
}

TEST(EvictionRulesTest, IdleSteps) {
  const EvictionRules idle = rules("idle_steps: 10");
  EXPECT_EQ(idle.verdict({.step = 110}, {.frequency = 5, .last_step = 100}), kStays);
  EXPECT_EQ(idle.verdict({.step = 111}, {.frequency = 5, .last_step = 100}),
            EvictionReason::kIdleSteps);
  EXPECT_EQ(idle.verdict({.step = 10}, {.frequency = 0, .last_step = 0}), kStays);
  EXPECT_EQ(idle.verdict({.step = 11}, {.frequency = 0, .last_step = 0}),
            EvictionReason::kIdleSteps);
}

TEST(EvictionRulesTest, IdleSecondsAndWindowsFollowTheirCuts) {
  const EvictionRules seconds = rules("idle_seconds: 3.5");
  EXPECT_EQ(seconds.verdict({.step = 1000}, {.frequency = 1, .last_step = 0}),
            kStays);  // no mark is old enough
  EXPECT_EQ(seconds.verdict({.step = 50, .seconds_cut = 20}, {.frequency = 1, .last_step = 21}),
            kStays);
  EXPECT_EQ(seconds.verdict({.step = 50, .seconds_cut = 20}, {.frequency = 1, .last_step = 20}),
            EvictionReason::kIdleSeconds);
  EXPECT_EQ(seconds.verdict({.step = 50, .windows_cut = 20}, {.frequency = 1, .last_step = 20}),
            kStays);
  const EvictionRules windows = rules("idle_windows: 2");
  EXPECT_EQ(windows.verdict({.step = 50, .windows_cut = 20}, {.frequency = 1, .last_step = 21}),
            kStays);
  EXPECT_EQ(windows.verdict({.step = 50, .windows_cut = 20}, {.frequency = 1, .last_step = 20}),
            EvictionReason::kIdleWindows);
}

TEST(EvictionRulesTest, FrequencyAndItsDecay) {
  const EvictionRules plain = rules("frequency_below: 3");
  EXPECT_EQ(plain.verdict({.step = 1'000'000}, {.frequency = 3, .last_step = 0}), kStays);
  EXPECT_EQ(plain.verdict({.step = 5}, {.frequency = 2, .last_step = 5}),
            EvictionReason::kInfrequent);
  const EvictionRules decayed = rules("frequency_below: 1 half_life_steps: 100");
  EXPECT_EQ(decayed.verdict({.step = 500}, {.frequency = 8, .last_step = 200}), kStays);  // 8 / 2^3
  EXPECT_EQ(decayed.verdict({.step = 501}, {.frequency = 8, .last_step = 200}),
            EvictionReason::kInfrequent);
}

TEST(EvictionRulesTest, SmallNorm) {
  const EvictionRules norm = rules("norm_below: 5");
  const std::vector<float> five = {3, 0, -4}, less = {3, 0, -3.99f};
  EXPECT_EQ(norm.verdict({}, {.frequency = 1, .last_step = 0, .weights = five}), kStays);
  EXPECT_EQ(norm.verdict({}, {.frequency = 1, .last_step = 0, .weights = less}),
            EvictionReason::kSmallNorm);
  const std::vector<float> huge(100, 1e38f);  // the square exceeds float32
  EXPECT_EQ(
      rules("norm_below: 1e38").verdict({}, {.frequency = 1, .last_step = 0, .weights = huge}),
      kStays);
}

TEST(EvictionRulesTest, TheFirstRuleThatAppliesIsTheReason) {
  const EvictionRules all =
      rules("idle_steps: 10 idle_seconds: 1 idle_windows: 1 frequency_below: 2 norm_below: 1");
  const std::vector<float> zero = {0}, one = {1};
  const EvictionTime now = {.step = 100, .seconds_cut = 93, .windows_cut = 95};
  EXPECT_EQ(all.verdict(now, {.frequency = 1, .last_step = 80, .weights = zero}),
            EvictionReason::kIdleSteps);
  EXPECT_EQ(all.verdict(now, {.frequency = 1, .last_step = 93, .weights = zero}),
            EvictionReason::kIdleSeconds);
  EXPECT_EQ(all.verdict(now, {.frequency = 1, .last_step = 95, .weights = zero}),
            EvictionReason::kIdleWindows);
  EXPECT_EQ(all.verdict(now, {.frequency = 1, .last_step = 96, .weights = zero}),
            EvictionReason::kInfrequent);
  EXPECT_EQ(all.verdict(now, {.frequency = 2, .last_step = 96, .weights = zero}),
            EvictionReason::kSmallNorm);
  EXPECT_EQ(all.verdict(now, {.frequency = 2, .last_step = 96, .weights = one}), kStays);
}

TEST(EvictionRulesTest, RefusesBadConfigurationsNamingTheTable) {
  EXPECT_THAT(EvictionRules::create({}, "items"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("table items.eviction: says not what to evict")));
}

// Evicts rows of one table after the step that equals their id.
class AfterItsId : public EvictionRule {
 public:
  explicit AfterItsId(std::string table) : table_(std::move(table)) {}
  bool evicts(const EvictionCandidate& row, int64_t step) const override {
    return table_ == "items" && step > row.id;
  }

 private:
  const std::string table_;
};

absl::StatusOr<std::unique_ptr<EvictionRule>> create_after_its_id(const CustomConfig&,
                                                                  const EvictionInput& input) {
  return std::make_unique<AfterItsId>(input.table);
}
MILLRACE_REGISTER_EVICTION(after_its_id, "ids below the step", &create_after_its_id);

// Evicts rows whose first weight is negative.
class NegativeRows : public EvictionRule {
 public:
  bool evicts(const EvictionCandidate& row, int64_t) const override {
    return !row.weights.empty() && row.weights[0] < 0;
  }
  bool needs_weights() const override { return true; }
};

absl::StatusOr<std::unique_ptr<EvictionRule>> create_negative_rows(const CustomConfig&,
                                                                   const EvictionInput&) {
  return std::make_unique<NegativeRows>();
}
MILLRACE_REGISTER_EVICTION(negative_rows, "rows with a negative weight", &create_negative_rows);

TEST(EvictionRulesTest, CustomIsMadeWithTheTableAndComesLast) {
  const EvictionRules custom = rules("idle_steps: 10 custom { name: 'after_its_id' }");
  EXPECT_FALSE(custom.needs_weights());
  EXPECT_EQ(custom.verdict({.step = 20}, {.id = 19, .last_step = 20}), EvictionReason::kCustom);
  EXPECT_EQ(custom.verdict({.step = 20}, {.id = 20, .last_step = 20}), kStays);
  EXPECT_EQ(custom.verdict({.step = 20}, {.id = 19, .last_step = 2}), EvictionReason::kIdleSteps);
  EXPECT_EQ(eviction_reason_name(EvictionReason::kCustom), "custom");
}

TEST(EvictionRulesTest, CustomGetsWeightsIfItNeedsThem) {
  const EvictionRules custom = rules("custom { name: 'negative_rows' }");
  EXPECT_TRUE(custom.needs_weights());
  const std::vector<float> negative = {-1, 2}, positive = {1, 2};
  EXPECT_EQ(custom.verdict({}, {.weights = negative}), EvictionReason::kCustom);
  EXPECT_EQ(custom.verdict({}, {.weights = positive}), kStays);
}

TEST(EvictionRulesTest, ACustomRuleThatIsNotThereIsNamed) {
  EvictionConfig config;
  config.mutable_custom()->set_name("after_its_ids");
  EXPECT_THAT(
      EvictionRules::create(config, "items"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::AllOf(HasSubstr("table items.eviction.custom"),
                              HasSubstr("\"after_its_ids\""), HasSubstr("\"after_its_id\""))));
}

TEST(EvictionTest, ReasonsAreNamedLikeTheirFields) {
  const auto* fields = EvictionConfig::descriptor();
  for (int i = 0; i < kEvictionReasons; ++i) {
    const std::string name(eviction_reason_name(static_cast<EvictionReason>(i)));
    EXPECT_EQ(fields->FindFieldByName(name) != nullptr, name != "limit") << name;
  }
}

TEST(DecayedFrequencyTest, HalvesAndIsLinearInBetween) {
  EXPECT_EQ(decayed_frequency(12, 1'000'000, 0), 12);
  EXPECT_EQ(decayed_frequency(12, 0, 10), 12);
  EXPECT_EQ(decayed_frequency(12, -3, 10), 12);
  EXPECT_EQ(decayed_frequency(12, 5, 10), 9);
  EXPECT_EQ(decayed_frequency(12, 10, 10), 6);
  EXPECT_EQ(decayed_frequency(12, 15, 10), 4.5);
  EXPECT_EQ(decayed_frequency(12, 20, 10), 3);
  EXPECT_EQ(decayed_frequency(12, 3, 2), 4.5);
  EXPECT_EQ(decayed_frequency(4294967295, std::numeric_limits<int64_t>::max(), 1e-300), 0);
  EXPECT_GT(decayed_frequency(1, 1000, 1), 0);
}

struct Row {
  int64_t id, frequency, last_step;
};

TEST(LeastRowsTest, AreThoseOfAFullSortWhateverTheOrder) {
  std::mt19937 random(5);
  std::vector<Row> rows(5000);
  for (int64_t i = 0; i < 5000; ++i) {
    rows[i] = {i * 977, static_cast<int64_t>(random() % 6), static_cast<int64_t>(random() % 6)};
  }
  for (const EvictionOrder order : {EvictionOrder::kLeastRecent, EvictionOrder::kLeastFrequent}) {
    const auto key = [order](const Row& row) {
      const bool recent = order == EvictionOrder::kLeastRecent;
      return std::tuple(recent ? row.last_step : row.frequency,
                        recent ? row.frequency : row.last_step, placement_hash(row.id));
    };
    std::vector<Row> sorted = rows;
    std::sort(sorted.begin(), sorted.end(),
              [&](const Row& a, const Row& b) { return key(a) < key(b); });
    for (const int64_t count : {1, 2, 37, 2500, 4999, 5000, 9000}) {
      std::shuffle(rows.begin(), rows.end(), random);
      LeastRows least(order, count);
      for (size_t i = 0; i < rows.size(); ++i) {
        least.add(static_cast<RowIndex>(i), rows[i].id, rows[i].frequency, rows[i].last_step);
      }
      std::vector<int64_t> ids, expected;
      for (const RowIndex row : least.take()) ids.push_back(rows[row].id);
      for (int64_t i = 0; i < std::min<int64_t>(count, 5000); ++i) expected.push_back(sorted[i].id);
      std::sort(ids.begin(), ids.end());
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(ids, expected) << count;
    }
  }
}

TEST(LeastRowsTest, LargeNumbersAreTakenForTheLargest) {
  LeastRows least(EvictionOrder::kLeastRecent, 1);
  least.add(1, 1, int64_t{1} << 40, int64_t{1} << 40);
  least.add(2, 2, 0, (int64_t{1} << 32) - 2);
  EXPECT_THAT(least.take(), testing::ElementsAre(2));
}

}  // namespace
}  // namespace millrace
