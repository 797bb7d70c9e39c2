// Checks the promises of dense optimizers for each kind of DenseOptimizerConfig, and that the suite
// finds an optimizer that breaks one.

#include "optim/dense_optimizer_conformance.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <utility>

#include "absl/strings/str_join.h"
#include "base/status_matchers.h"
#include "optim/dense_optimizer_factory.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

MakeDenseOptimizer of(const char* text) {
  return [text](std::vector<NamedParameter> parameters, double learning_rate) {
    DenseOptimizerConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    config.set_learning_rate(learning_rate);
    auto optimizer = create_dense_optimizer(config, std::move(parameters));
    EXPECT_OK(optimizer);
    return *std::move(optimizer);
  };
}

[[maybe_unused]] const bool kEachKind = [] {
  for (const auto& [name, text] : {
           std::pair("Sgd", "sgd {}"),
           {"SgdWithMomentum", "sgd { momentum: 0.9 nesterov: true weight_decay: 0.1 }"},
           {"Adagrad", "adagrad { initial_accumulator: 0.1 lr_decay: 0.01 }"},
           {"Adam", "adam {}"},
           {"AdamWithDecay", "adam { weight_decay: 0.1 }"},
           {"AdamW", "adamw { weight_decay: 0.1 }"},
           {"RmsProp", "rmsprop {}"},
           {"RmsPropWithMomentum", "rmsprop { momentum: 0.9 centered: true }"},
           {"Lamb", "lamb { weight_decay: 0.1 }"},
           {"AdamWOfTensorFlow", "adamw_tf { weight_decay: 0.1 }"},
       }) {
    register_dense_optimizer_conformance(name, of(text));
  }
  return true;
}();

// SGD with momentum, with a fault that a test can choose.
class FaultyOptimizer : public DenseOptimizer {
 public:
  enum class Fault {
    kNone,
    kMisnamesParameters,
    kAnotherRate,
    kUpdatesNothing,
    kTreatsNoGradientAsZero,
    kZerosGradients,
    kDriftsWithoutRate,
    kMisnamesState,
    kForgetsState,
    kAddsState,
    kKeepsLoadedTensors,
    kFindsNoDifference,
    kTakesAnyState,
  };
  FaultyOptimizer(Fault fault, std::vector<NamedParameter> parameters, double rate)
      : fault_(fault), rate_(rate), parameters_(std::move(parameters)) {
    for (const NamedParameter& parameter : parameters_) {
      names_.push_back(fault_ == Fault::kMisnamesParameters ? "parameter" : parameter.name);
      momenta_.push_back(at::zeros_like(parameter.value.detach()));
    }
  }

  absl::Status step(const Progress&) override {
    const at::NoGradGuard no_gradients;
    if (fault_ == Fault::kUpdatesNothing) return absl::OkStatus();
    for (size_t i = 0; i < parameters_.size(); ++i) {
      at::Tensor value = parameters_[i].value;
      if (value.grad().defined()) {
        momenta_[i].mul_(0.9).add_(value.grad());
      } else if (fault_ != Fault::kTreatsNoGradientAsZero) {
        continue;
      }
      value.sub_(momenta_[i], rate_);
      if (fault_ == Fault::kDriftsWithoutRate) value.add_(0.001);
    }
    return absl::OkStatus();
  }
  void zero_grad() override {
    for (NamedParameter& parameter : parameters_) {
      at::Tensor& gradient = parameter.value.mutable_grad();
      if (fault_ != Fault::kZerosGradients) gradient = at::Tensor();
      if (gradient.defined()) gradient.zero_();
    }
  }
  double learning_rate(const Progress&) const override {
    return fault_ == Fault::kAnotherRate ? 2 * rate_ : rate_;
  }
  const std::vector<std::string>& parameters() const override { return names_; }
  std::vector<NamedParameter> state() const override {
    std::vector<NamedParameter> state;
    if (fault_ == Fault::kForgetsState) return state;
    for (size_t i = 0; i < parameters_.size(); ++i) state.push_back({state_name(i), momenta_[i]});
    return state;
  }
  std::vector<std::string> state_differences(
      const std::vector<NamedParameter>& state) const override {
    if (fault_ == Fault::kFindsNoDifference) return {};
    return differences(state);
  }
  absl::Status load_state(const std::vector<NamedParameter>& state) override {
    const std::vector<std::string> differences = this->differences(state);
    if (!differences.empty() && fault_ != Fault::kTakesAnyState) {
      return absl::InvalidArgumentError(absl::StrJoin(differences, "\n"));
    }
    for (const NamedParameter& part : state) {
      for (size_t i = 0; i < parameters_.size(); ++i) {
        if (part.name != state_name(i) || part.value.sizes() != momenta_[i].sizes()) continue;
        if (fault_ == Fault::kAddsState) {
          momenta_[i] = momenta_[i] + part.value;
        } else {
          momenta_[i] = fault_ == Fault::kKeepsLoadedTensors ? part.value : part.value.clone();
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  std::string state_name(size_t i) const {
    return parameters_[i].name + (fault_ == Fault::kMisnamesState ? "_momentum" : "/momentum");
  }
  std::vector<std::string> differences(const std::vector<NamedParameter>& state) const {
    std::vector<std::string> differences;
    const size_t expected = fault_ == Fault::kForgetsState ? 0 : parameters_.size();
    if (state.size() != expected) return {"another number of tensors"};
    for (size_t i = 0; i < state.size(); ++i) {
      const at::Tensor& value = state[i].value;
      if (state[i].name == state_name(i) && value.sizes() == momenta_[i].sizes() &&
          value.scalar_type() == momenta_[i].scalar_type()) {
        continue;
      }
      differences.push_back(state[i].name);
    }
    return differences;
  }

  const Fault fault_;
  const double rate_;
  std::vector<NamedParameter> parameters_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> momenta_;
};

std::vector<std::string> failing(FaultyOptimizer::Fault fault) {
  return failing_properties(
      dense_optimizer_properties([=](std::vector<NamedParameter> parameters, double rate) {
        return std::make_unique<FaultyOptimizer>(fault, std::move(parameters), rate);
      }));
}

TEST(DenseOptimizerConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultyOptimizer::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kMisnamesParameters), ElementsAre("NamesItsParameters"));
  EXPECT_THAT(failing(Fault::kAnotherRate), ElementsAre("HasTheRateOfItsSchedule"));
  EXPECT_THAT(failing(Fault::kUpdatesNothing), Contains("UpdatesParametersAlike"));
  EXPECT_THAT(failing(Fault::kTreatsNoGradientAsZero),
              ElementsAre("KeepsParametersWithoutGradient"));
  EXPECT_THAT(failing(Fault::kZerosGradients), ElementsAre("ZeroGradLeavesGradientsUndefined"));
  EXPECT_THAT(failing(Fault::kDriftsWithoutRate), ElementsAre("RateZeroChangesNoParameter"));
  EXPECT_THAT(failing(Fault::kMisnamesState), Contains("NamesItsState"));
  EXPECT_THAT(failing(Fault::kForgetsState), Contains("ContinuesFromItsState"));
  EXPECT_THAT(failing(Fault::kAddsState), Contains("ReplacesItsState"));
  EXPECT_THAT(failing(Fault::kKeepsLoadedTensors), ElementsAre("CopiesTheStateItLoads"));
  EXPECT_THAT(failing(Fault::kFindsNoDifference), ElementsAre("FindsDifferencesOfState"));
  EXPECT_THAT(failing(Fault::kTakesAnyState), ElementsAre("RefusesOtherState"));
}

}  // namespace
}  // namespace millrace
