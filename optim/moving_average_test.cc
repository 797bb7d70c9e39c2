#include "optim/moving_average.h"

#include <google/protobuf/text_format.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

MovingAverageConfig config_of(double decay, bool warmup) {
  MovingAverageConfig config;
  config.set_decay(decay);
  config.set_warmup(warmup);
  return config;
}

at::Tensor bits(const at::Tensor& tensor) { return tensor.detach().view(at::kInt).clone(); }

std::vector<std::string> names_of(const std::vector<NamedParameter>& state) {
  std::vector<std::string> names;
  for (const NamedParameter& tensor : state) names.push_back(tensor.name);
  return names;
}

// Returns trainable parameters of these types: a matrix larger than a block, a vector smaller than
// a block, and a matrix that is not contiguous.
std::vector<NamedParameter> make_parameters(at::ScalarType type) {
  torch::manual_seed(5);
  std::vector<NamedParameter> parameters = {{"fc.weight", torch::randn({5, 7}, type)},
                                            {"fc.bias", torch::randn({5}, type)},
                                            {"turned", torch::randn({3, 4}, type).t()}};
  for (NamedParameter& parameter : parameters) parameter.value.set_requires_grad(true);
  return parameters;
}

void train(const std::vector<NamedParameter>& parameters, int step) {
  const at::NoGradGuard no_gradients;
  for (const NamedParameter& parameter : parameters) {
    at::Tensor value = parameter.value;
    value.add_(torch::randn(value.sizes(), value.options().requires_grad(false)), 0.1 / (1 + step));
  }
}

// Computes the formula in double, number by number.
struct Reference {
  explicit Reference(const at::Tensor& parameter)
      : value(parameter.detach().to(at::kDouble).flatten().clone()) {}

  void update(const at::Tensor& parameter, double decay, bool warmup) {
    const double n = updates++;
    const double d = warmup ? std::min(decay, (1 + n) / (10 + n)) : decay;
    const at::Tensor now = parameter.detach().to(at::kDouble).flatten().clone();
    for (int64_t i = 0; i < value.numel(); ++i) {
      double* average = value.mutable_data_ptr<double>() + i;
      *average += (1 - d) * (now.const_data_ptr<double>()[i] - *average);
    }
  }

  at::Tensor value;
  int updates = 0;
};

TEST(MovingAverageTest, AgreesWithTheFormulaInDouble) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const double tolerance = type == at::kDouble ? 1e-9 : 1e-5;
    // The warm-up lasts 890 updates for a decay of 0.99, and eight for 0.5.
    for (const double decay : {0.0, 0.5, 0.99}) {
      for (const bool warmup : {false, true}) {
        const std::vector<NamedParameter> parameters = make_parameters(type);
        ASSERT_OK_AND_ASSIGN(const auto average,
                             MovingAverage::create(config_of(decay, warmup), parameters));
        std::vector<Reference> references;
        for (const NamedParameter& parameter : parameters) references.emplace_back(parameter.value);
        for (int step = 0; step < 1000; ++step) {
          average->before_update();
          train(parameters, step);
          average->after_update();
          for (size_t i = 0; i < parameters.size(); ++i) {
            references[i].update(parameters[i].value, decay, warmup);
          }
        }
        const std::vector<NamedParameter> state = average->state();
        ASSERT_EQ(state.size(), 6);
        for (size_t i = 0; i < parameters.size(); ++i) {
          EXPECT_EQ(state[2 * i].value.item<int64_t>(), 1000);
          const at::Tensor value = state[2 * i + 1].value;
          EXPECT_EQ(value.scalar_type(), type);
          const at::Tensor error = value.to(at::kDouble).flatten() - references[i].value;
          EXPECT_LT(error.abs().max().item<double>(), tolerance)
              << state[2 * i + 1].name << " " << decay << " " << warmup;
          if (decay == 0 && !warmup) {
            EXPECT_LT((value - parameters[i].value).abs().max().item<double>(), tolerance);
          }
        }
      }
    }
  }
}

TEST(MovingAverageTest, TheFirstUpdatesFollowTheWarmUp) {
  at::Tensor parameter = torch::zeros({1}).set_requires_grad(true);
  ASSERT_OK_AND_ASSIGN(const auto average,
                       MovingAverage::create(config_of(0.2, true), {{"p", parameter}}));
  const auto step = [&](float value) {
    average->before_update();
    {
      const at::NoGradGuard no_gradients;
      parameter.fill_(value);
    }
    average->after_update();
    return average->state()[1].value.item<float>();
  };
  EXPECT_NEAR(step(10), 9, 1e-6);                    // 1 / 10 of the initial 0
  EXPECT_NEAR(step(0), 9 * 2.0f / 11, 1e-6);         // 2 / 11
  EXPECT_NEAR(step(0), 9 * 2.0f / 11 * 0.2f, 1e-6);  // 3 / 12 is above the decay
  EXPECT_NEAR(step(0), 9 * 2.0f / 11 * 0.2f * 0.2f, 1e-6);
}

TEST(MovingAverageTest, BeginsWithWhatIsLoadedBeforeTheFirstStep) {
  at::Tensor parameter = torch::ones({2}).set_requires_grad(true);
  ASSERT_OK_AND_ASSIGN(const auto average,
                       MovingAverage::create(config_of(0.5, false), {{"p", parameter}}));
  const auto set = [&](float value) {
    const at::NoGradGuard no_gradients;
    parameter.fill_(value);
  };
  set(4);
  EXPECT_THAT(names_of(average->state()), ElementsAre("p/average_updates", "p/average"));
  EXPECT_EQ(average->state()[1].value[0].item<float>(), 4);
  {
    const MovingAverage::InPlace in_place(average.get());
    EXPECT_EQ(parameter[0].item<float>(), 4);
  }
  // A refused step, and then one that is applied.
  average->before_update();
  set(6);
  average->before_update();
  set(8);
  average->after_update();
  EXPECT_EQ(average->state()[1].value[0].item<float>(), 7);
}

TEST(MovingAverageTest, ExchangesBitByBit) {
  const std::vector<NamedParameter> parameters = make_parameters(at::kFloat);
  ASSERT_OK_AND_ASSIGN(const auto average,
                       MovingAverage::create(config_of(0.5, false), parameters));
  average->before_update();
  train(parameters, 0);
  average->after_update();
  {
    const at::NoGradGuard no_gradients;
    at::Tensor weight = parameters[0].value;
    weight[0][0] = std::numeric_limits<float>::quiet_NaN();
    weight[0][1] = -0.0f;
    weight[0][2] = std::numeric_limits<float>::denorm_min();
  }
  std::vector<at::Tensor> before, averages;
  for (size_t i = 0; i < parameters.size(); ++i) {
    before.push_back(bits(parameters[i].value.contiguous()));
    averages.push_back(bits(average->state()[2 * i + 1].value.contiguous()));
  }
  {
    const MovingAverage::InPlace in_place(average.get());
    for (size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_TRUE(bits(parameters[i].value.contiguous()).equal(averages[i]));
      EXPECT_FALSE(averages[i].equal(before[i]));
      EXPECT_TRUE(parameters[i].value.requires_grad());
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(bits(parameters[i].value.contiguous()).equal(before[i]));
    EXPECT_TRUE(bits(average->state()[2 * i + 1].value.contiguous()).equal(averages[i]));
  }
  const MovingAverage::InPlace nothing(nullptr);
}

TEST(MovingAverageTest, FrozenParametersHaveNone) {
  std::vector<NamedParameter> parameters = make_parameters(at::kFloat);
  parameters[0].value.set_requires_grad(false);
  ASSERT_OK_AND_ASSIGN(const auto average,
                       MovingAverage::create(config_of(0.5, false), parameters));
  EXPECT_THAT(names_of(average->state()), ElementsAre("fc.bias/average_updates", "fc.bias/average",
                                                      "turned/average_updates", "turned/average"));
  for (NamedParameter& parameter : parameters) parameter.value.set_requires_grad(false);
  EXPECT_THAT(MovingAverage::create(config_of(0.5, false), parameters),
              StatusIs(kInvalid, HasSubstr("no dense parameter that is trained (3 are frozen)")));
  EXPECT_THAT(MovingAverage::create(config_of(1, false), parameters),
              StatusIs(kInvalid, HasSubstr("decay is 1")));
}

TEST(MovingAverageTest, ContinuesFromItsStateToTheBit) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const std::vector<NamedParameter> parameters = make_parameters(type);
    const MovingAverageConfig config = config_of(0.3, true);
    ASSERT_OK_AND_ASSIGN(const auto first, MovingAverage::create(config, parameters));
    ASSERT_OK_AND_ASSIGN(const auto second, MovingAverage::create(config, parameters));
    for (int step = 0; step < 6; ++step) {
      if (step == 3) {
        ASSERT_OK(second->load_state(first->state()));
      }
      first->before_update();
      second->before_update();
      train(parameters, step);
      first->after_update();
      // The second average has missed steps before the state is loaded.
      if (step != 1) second->after_update();
    }
    const std::vector<NamedParameter> a = first->state(), b = second->state();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].value.equal(b[i].value)) << a[i].name;
  }
}

TEST(MovingAverageTest, LoadsPartsAndRefusesWhatDoesNotFit) {
  const std::vector<NamedParameter> parameters = make_parameters(at::kFloat);
  ASSERT_OK_AND_ASSIGN(const auto average,
                       MovingAverage::create(config_of(0.5, false), parameters));
  average->before_update();
  train(parameters, 0);
  average->after_update();
  std::vector<NamedParameter> state = average->state();
  for (NamedParameter& tensor : state) tensor.value = tensor.value.clone();

  std::vector<NamedParameter> wrong = state;
  wrong[1].value = torch::zeros({2});
  wrong[3].name = "fc.bias/averages";
  const std::vector<std::string> differences = average->state_differences(wrong);
  ASSERT_EQ(differences.size(), 3);
  EXPECT_THAT(differences[0], HasSubstr("\"fc.weight/average\" is float32 [2]"));
  EXPECT_THAT(differences[1], HasSubstr("\"fc.bias/average\" is missing"));
  EXPECT_THAT(differences[2], HasSubstr("\"fc.bias/averages\" is not one"));
  EXPECT_THAT(average->load_state(wrong), StatusIs(kInvalid));
  EXPECT_TRUE(average->state()[1].value.equal(state[1].value)) << "nothing has changed";

  // The state omits the second parameter, whose average begins again at the parameter.
  ASSERT_OK(average->load_state({state[0], state[1], state[4], state[5]}));
  EXPECT_TRUE(average->state()[1].value.equal(state[1].value));
  EXPECT_EQ(average->state()[2].value.item<int64_t>(), 0);
  EXPECT_TRUE(average->state()[3].value.equal(parameters[1].value));
  EXPECT_FALSE(state[3].value.equal(parameters[1].value));
  average->before_update();
  average->after_update();
  EXPECT_TRUE(average->state()[3].value.equal(parameters[1].value));
}

TrainConfig parse(const std::string& text) {
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &train)) << text;
  return train;
}

TEST(MovingAverageCheckTest, NeedsParametersThatAreTrained) {
  for (const char* good :
       {"", "optimizer { frozen: true }", "moving_average {}",
        "moving_average {} more_optimizers { pattern: 'a' } optimizer { frozen: true }",
        "moving_average {} more_optimizers { pattern: 'a' frozen: true }"}) {
    EXPECT_OK(check_moving_average_of(parse(good))) << good;
  }
  for (const char* bad :
       {"moving_average {} optimizer { frozen: true }",
        "moving_average {} more_optimizers { frozen: true } optimizer { frozen: true }"}) {
    EXPECT_THAT(check_moving_average_of(parse(bad)),
                StatusIs(kInvalid, HasSubstr("train.moving_average: all dense parameters are")))
        << bad;
  }
  EXPECT_THAT(check_moving_average_of(parse("moving_average { decay: 1 }")),
              StatusIs(kInvalid, HasSubstr("train.moving_average: decay is 1")));
}

}  // namespace
}  // namespace millrace
