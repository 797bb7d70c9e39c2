#include "framework/precision/loss_scaler.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

// Reference implementation of the scale. Step k overflows at every scale above limits[k].
struct PlainModel {
  double initial, growth, backoff, min;
  int interval;

  // Returns the scales of all backward passes. Sets `refused` to the steps that overflow at every
  // scale.
  std::vector<double> run(const std::vector<double>& limits, std::vector<size_t>* refused) const {
    std::vector<double> scales;
    double scale = initial;
    int clean = 0;
    for (size_t step = 0; step < limits.size(); ++step) {
      const double begun = scale;
      while (true) {
        scales.push_back(scale);
        const bool overflows = scale > limits[step];
        if (!overflows) {
          clean = clean + 1;
          if (clean == interval) {
            clean = 0;
            const double larger = scale * growth;
            if (larger <= std::numeric_limits<float>::max()) scale = larger;
          }
          break;
        }
        if (scale <= min) {
          refused->push_back(step);
          clean = 0;
          scale = begun;
          break;
        }
        clean = 0;
        scale = scale * backoff;
        if (scale < min) scale = min;
      }
    }
    return scales;
  }
};

LossScaleConfig config_of(const PlainModel& model) {
  LossScaleConfig config;
  config.set_initial(model.initial);
  config.set_growth_factor(model.growth);
  config.set_backoff_factor(model.backoff);
  config.set_min(model.min);
  config.set_growth_interval(model.interval);
  return config;
}

// Returns the same from a LossScaler, whose state another LossScaler takes over before step `cut`.
std::vector<double> run(const LossScaleConfig& config, const std::vector<double>& limits,
                        size_t cut, std::vector<size_t>* refused) {
  LossScaler first(config), second(config);
  LossScaler* scaler = &first;
  std::vector<double> scales;
  for (size_t step = 0; step < limits.size(); ++step) {
    if (step == cut) {
      ObjectState state;
      EXPECT_OK(first.save_state(state));
      EXPECT_OK(second.load_state({state}));
      scaler = &second;
    }
    const double begun = scaler->scale();
    while (true) {
      scales.push_back(scaler->scale());
      if (scaler->scale() <= limits[step]) {
        scaler->add_clean_step();
        break;
      }
      if (scaler->is_lowest()) {
        refused->push_back(step);
        scaler->add_refused_step(begun);
        break;
      }
      scaler->add_overflow();
    }
  }
  return scales;
}

TEST(LossScalerTest, TenThousandRandomSequences) {
  std::mt19937_64 random(1);
  const auto real = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const auto integer = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int64_t overflows = 0, refusals = 0, capped = 0;
  for (int i = 0; i < 10000; ++i) {
    SCOPED_TRACE(absl::StrCat("sequence ", i));
    PlainModel model;
    model.min = std::exp2(integer(-3, 3));
    model.initial = model.min * std::exp2(integer(0, 19));
    model.growth = integer(0, 1) == 0 ? 2 : real(1.1, 1e9);
    model.backoff = integer(0, 1) == 0 ? 0.5 : real(0.01, 0.99);
    model.interval = integer(1, 5);
    std::vector<double> limits(static_cast<size_t>(integer(1, 39)));
    for (double& limit : limits) {
      // Most steps tolerate any scale.
      const bool any = integer(0, 2) > 0;
      limit = any ? std::numeric_limits<double>::infinity() : model.min * std::exp2(real(-2, 22));
    }
    std::vector<size_t> refused, expected_refused;
    const auto cut = static_cast<size_t>(integer(0, static_cast<int>(limits.size()) - 1));
    const std::vector<double> expected = model.run(limits, &expected_refused);
    ASSERT_EQ(run(config_of(model), limits, cut, &refused), expected);
    ASSERT_EQ(refused, expected_refused);
    overflows += static_cast<int64_t>(expected.size() - limits.size());
    refusals += static_cast<int64_t>(refused.size());
    capped += expected.back() > std::numeric_limits<float>::max() / model.growth;
  }
  // Checks that each case of the rule occurs.
  EXPECT_GT(overflows, 10000);
  EXPECT_GT(refusals, 1000);
  EXPECT_GT(capped, 100);
}

TEST(LossScalerTest, BeginsAnewWithoutAState) {
  LossScaler scaler{LossScaleConfig()};
  EXPECT_EQ(scaler.scale(), 65536);
  scaler.add_overflow();
  EXPECT_EQ(scaler.scale(), 32768);
  EXPECT_OK(scaler.load_state({}));
  EXPECT_EQ(scaler.scale(), 65536);
}

TEST(LossScalerTest, RefusesADamagedStateAndKeepsItsOwn) {
  LossScaler scaler{LossScaleConfig()};
  scaler.add_overflow();
  ObjectState state;
  ASSERT_OK(scaler.save_state(state));
  for (const ObjectState& wrong :
       {ObjectState{2, state.bytes}, ObjectState{1, "nonsense"}, ObjectState{1, ""}}) {
    EXPECT_THAT(scaler.load_state({wrong}), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_EQ(scaler.scale(), 32768);
}

TEST(LossScalerTest, AScaleBelowANewFloorIsRaised) {
  LossScaler scaler{LossScaleConfig()};
  for (int i = 0; i < 12; ++i) scaler.add_overflow();
  ObjectState state;
  ASSERT_OK(scaler.save_state(state));
  LossScaleConfig config;
  config.set_min(1024);
  LossScaler other(config);
  ASSERT_OK(other.load_state({state}));
  EXPECT_EQ(other.scale(), 1024);
  EXPECT_TRUE(other.is_lowest());
}

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status check(const std::string& text) {
  PrecisionConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return check_precision("train.precision", config);
}

TEST(PrecisionCheckTest, Accepts) {
  for (const char* text :
       {"", "compute: FLOAT32", "loss_scale { initial: 65536 }", "compute: BFLOAT16",
        "compute: FLOAT16",
        "compute: FLOAT16 loss_scale { initial: 1 min: 1 growth_interval: 1 growth_factor: 4 "
        "backoff_factor: 0.1 }"}) {
    EXPECT_OK(check(text));
  }
}

TEST(PrecisionCheckTest, NamesWhatIsOutOfRange) {
  const auto refused = [](const std::string& fields, const std::string& what) {
    EXPECT_THAT(check("compute: FLOAT16 loss_scale { " + fields + " }"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("train.precision.loss_scale: "), HasSubstr(what))));
  };
  refused("initial: 1e39", "initial is 1e+39; must be a positive, normal number of float32");
  refused("growth_interval: 0", "growth_interval is 0");
  refused("growth_factor: 1", "growth_factor is 1; must be above 1 and finite");
  refused("backoff_factor: 1", "backoff_factor is 1; must be above 0 and below 1");
  for (const char* value : {"0", "1e5", "nan"}) {
    refused(std::string("min: ") + value, "min is");
  }
  // All mistakes are reported together.
  refused("min: 0 growth_factor: 1", "growth_factor is 1");
  refused("min: 0 growth_factor: 1", "min is 0");
}

TEST(PrecisionCheckTest, RefusesAScaleThatDoesNothing) {
  EXPECT_THAT(check("compute: BFLOAT16 loss_scale { min: 0.5 }"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does nothing")));
}

}  // namespace
}  // namespace millrace
