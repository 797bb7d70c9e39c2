#include "proto/parts/kind_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/status_matchers.h"
#include "proto/config.pb.h"

namespace millrace {
namespace {

using testing::HasSubstr;

// A family of numbers, chosen by RowFilterConfig.kind. A number is made with a factor; built-in
// kinds also get a summand, and their check a minimum.
using NumberFactory = std::function<absl::StatusOr<std::unique_ptr<int>>(const CustomConfig&, int)>;
using NumberRegistry =
    KindRegistry<RowFilterConfig, NumberFactory, KindCheck<RowFilterConfig, int>, int>;

NumberRegistry& new_registry(int default_kind) {
  const NumberRegistry::Kind frequency = {
      RowFilterConfig::kFrequency,
      [](const RowFilterConfig& config, int factor, int summand) {
        return std::make_unique<int>(config.frequency().min_frequency() * factor + summand);
      },
      [](absl::string_view where, const RowFilterConfig& config, int minimum) {
        return at_least(where, "min_frequency", config.frequency().min_frequency(), minimum);
      }};
  auto& registry = *new NumberRegistry("number", "row_filter { custom { name: \"NAME\" } }", "kind",
                                       {frequency}, default_kind);
  registry.add(
      "seven", "",
      [](const CustomConfig&, int factor) { return std::make_unique<int>(7 * factor); },
      std::source_location::current());
  return registry;
}

RowFilterConfig frequency_of(int value) {
  RowFilterConfig config;
  config.mutable_frequency()->set_min_frequency(value);
  return config;
}

RowFilterConfig custom(const std::string& name) {
  RowFilterConfig config;
  config.mutable_custom()->set_name(name);
  return config;
}

TEST(KindRegistryTest, CreatesTheKindThatIsChosen) {
  const NumberRegistry& registry = new_registry(0);
  EXPECT_THAT(registry.names(), testing::ElementsAre("frequency", "seven"));
  EXPECT_THAT(registry.kinds(), testing::ElementsAre("frequency"));
  EXPECT_EQ(registry.kind(frequency_of(3)), "frequency");
  EXPECT_EQ(registry.kind(custom("seven")), "custom");
  EXPECT_EQ(registry.kind(RowFilterConfig()), "");
  EXPECT_EQ(**registry.create(frequency_of(3), 2, 1), 7);
  EXPECT_EQ(**registry.create(custom("seven"), 2, 1), 14);
  ASSERT_EQ(setenv("MILLRACE_TEST_SECRET", "seven", 1), 0);
  EXPECT_EQ(**registry.create(custom("${secret:MILLRACE_TEST_SECRET}"), 2, 1), 14);
  EXPECT_EQ(**registry.create(custom("seven").custom(), 2), 14);
  EXPECT_THAT(registry.create(RowFilterConfig(), 2, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, "a number has no kind"));
  EXPECT_EQ(**new_registry(RowFilterConfig::kFrequency).create(RowFilterConfig(), 2, 1), 1);
}

TEST(KindRegistryTest, ChecksTheKindThatIsChosen) {
  const auto errors_of = [](const RowFilterConfig& config, int default_kind) {
    return std::string(new_registry(default_kind).check("here", config, 1).message());
  };
  EXPECT_EQ(errors_of(frequency_of(1), 0), "");
  EXPECT_EQ(errors_of(frequency_of(0), 0),
            "here.frequency: min_frequency is 0; must be at least 1");
  EXPECT_EQ(errors_of(custom("seven"), 0), "");
  EXPECT_THAT(errors_of(custom("eight"), 0), HasSubstr("here.custom: no number \"eight\""));
  EXPECT_EQ(errors_of(RowFilterConfig(), 0), "here: has no kind; set one of frequency, custom");
  EXPECT_EQ(errors_of(RowFilterConfig(), RowFilterConfig::kFrequency),
            "here.frequency: min_frequency is 0; must be at least 1");
}

TEST(KindRegistryDeathTest, EachFieldHasAFactory) {
  EXPECT_DEATH(NumberRegistry("number", "", "kind", {}), "the number frequency has no factory");
}

}  // namespace
}  // namespace millrace
