#include "optim/dense_optimizer_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <set>

#include "base/status_matchers.h"
#include "optim/schedule/schedule.h"

namespace millrace {
namespace {

constexpr double kRate = 0.01;

// Three parameters, the last of which never has a gradient, and the optimizer under test.
struct Job {
  explicit Job(const MakeDenseOptimizer& make, double rate = kRate)
      : parameters({{"net.weight", torch::linspace(-1, 1, 6).view({2, 3}).requires_grad_()},
                    {"net.bias", torch::linspace(2, 3, 4).requires_grad_()},
                    {"unused", torch::linspace(4, 5, 2).requires_grad_()}}),
        optimizer(make(parameters, rate)) {}

  void set_gradients() {
    for (size_t i = 0; i < 2; ++i) {
      at::Tensor& parameter = parameters[i].value;
      parameter.mutable_grad() =
          (at::arange(parameter.numel(), at::kFloat).view(parameter.sizes()) +
           static_cast<double>(progress.step))
              .sin();
    }
  }

  void step() {
    set_gradients();
    EXPECT_OK(optimizer->step(progress));
    optimizer->zero_grad();
    ++progress.step;
  }

  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }

  // Returns copies of the values.
  std::vector<at::Tensor> values() const {
    std::vector<at::Tensor> copies;
    for (const NamedParameter& parameter : parameters) {
      copies.push_back(parameter.value.detach().clone());
    }
    return copies;
  }

  std::vector<NamedParameter> parameters;
  std::unique_ptr<DenseOptimizer> optimizer;
  Progress progress;
};

// Returns a state whose tensors are copies.
std::vector<NamedParameter> copied(std::vector<NamedParameter> state) {
  for (NamedParameter& part : state) part.value = part.value.clone();
  return state;
}

void expect_equal(const std::vector<NamedParameter>& a, const std::vector<NamedParameter>& b) {
  ASSERT_EQ(a.size(), b.size()) << "number of tensors in the state";
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(at::equal(a[i].value, b[i].value)) << a[i].name;
  }
}

void expect_equal_values(const Job& a, const Job& b) {
  for (size_t i = 0; i < a.parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(a.parameters[i].value, b.parameters[i].value)) << a.parameters[i].name;
  }
}

void check_parameters(const MakeDenseOptimizer& make) {
  EXPECT_THAT(Job(make).optimizer->parameters(),
              testing::ElementsAre("net.weight", "net.bias", "unused"));
}

void check_rate(const MakeDenseOptimizer& make) {
  Job job(make);
  for (int i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(job.optimizer->learning_rate(job.progress), kRate);
    if (const Schedule* schedule = job.optimizer->schedule()) {
      EXPECT_EQ(schedule->rate(job.progress), job.optimizer->learning_rate(job.progress));
    }
    job.step();
  }
}

void check_steps(const MakeDenseOptimizer& make) {
  Job job(make), twin(make);
  const std::vector<at::Tensor> before = job.values();
  for (int i = 0; i < 20; ++i) {
    job.step();
    twin.step();
    expect_equal_values(job, twin);
  }
  for (size_t i = 0; i < 2; ++i) {
    const NamedParameter& parameter = job.parameters[i];
    EXPECT_FALSE(at::equal(parameter.value, before[i])) << parameter.name << " was not updated";
    EXPECT_TRUE(parameter.value.isfinite().all().item<bool>()) << parameter.name;
    EXPECT_TRUE(parameter.value.requires_grad() && parameter.value.is_leaf()) << parameter.name;
  }
}

void check_no_gradient(const MakeDenseOptimizer& make) {
  Job job(make);
  const std::vector<at::Tensor> start = job.values();
  job.steps(3);
  EXPECT_TRUE(at::equal(job.parameters[2].value, start[2])) << "never had a gradient";
  // A parameter that had a gradient and has none in this step must keep its value.
  job.set_gradients();
  job.parameters[0].value.mutable_grad() = at::Tensor();
  const std::vector<at::Tensor> before = job.values();
  EXPECT_OK(job.optimizer->step(job.progress));
  EXPECT_TRUE(at::equal(job.parameters[0].value, before[0]));
  EXPECT_FALSE(at::equal(job.parameters[1].value, before[1]));
}

void check_zero_grad(const MakeDenseOptimizer& make) {
  Job job(make);
  job.set_gradients();
  EXPECT_OK(job.optimizer->step(job.progress));
  for (int i = 0; i < 2; ++i) {
    job.optimizer->zero_grad();
    for (const NamedParameter& parameter : job.parameters) {
      EXPECT_FALSE(parameter.value.grad().defined()) << parameter.name;
    }
  }
}

void check_rate_zero(const MakeDenseOptimizer& make) {
  Job job(make, /*rate=*/0);
  const std::vector<at::Tensor> before = job.values();
  job.steps(5);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(at::equal(job.parameters[i].value, before[i])) << job.parameters[i].name;
  }
}

void check_state_names(const MakeDenseOptimizer& make) {
  Job job(make);
  job.steps(3);
  std::set<std::string> names;
  size_t parameter = 0;
  for (const NamedParameter& part : job.optimizer->state()) {
    EXPECT_TRUE(names.insert(part.name).second) << part.name << " comes twice";
    EXPECT_TRUE(part.value.defined()) << part.name;
    const auto is_of = [&](size_t i) {
      return part.name.rfind(job.parameters[i].name + "/", 0) == 0;
    };
    while (parameter < job.parameters.size() && !is_of(parameter)) ++parameter;
    ASSERT_LT(parameter, job.parameters.size())
        << part.name << " is not \"<parameter>/<what>\", in the order of parameters";
  }
}

void check_continuation(const MakeDenseOptimizer& make) {
  for (const int before : {0, 1, 5}) {
    SCOPED_TRACE(testing::Message() << "saved after " << before << " steps");
    Job job(make), resumed(make);
    job.steps(before);
    const std::vector<NamedParameter> state = copied(job.optimizer->state());
    for (size_t i = 0; i < job.parameters.size(); ++i) {
      resumed.parameters[i].value.data().copy_(job.parameters[i].value.detach());
    }
    resumed.progress = job.progress;
    EXPECT_THAT(resumed.optimizer->state_differences(state), testing::IsEmpty());
    ASSERT_OK(resumed.optimizer->load_state(state));
    expect_equal(resumed.optimizer->state(), state);
    for (int i = 0; i < 5; ++i) {
      job.step();
      resumed.step();
      expect_equal_values(job, resumed);
    }
    expect_equal(resumed.optimizer->state(), job.optimizer->state());
  }
}

void check_replacement(const MakeDenseOptimizer& make) {
  // The loaded state replaces the state of an optimizer that made other steps.
  Job job(make), other(make);
  job.steps(3);
  other.progress.step = 7;
  other.steps(4);
  const std::vector<NamedParameter> state = copied(job.optimizer->state());
  ASSERT_OK(other.optimizer->load_state(state));
  expect_equal(other.optimizer->state(), state);
}

void check_copies(const MakeDenseOptimizer& make) {
  Job job(make), resumed(make);
  job.steps(3);
  const std::vector<NamedParameter> loaded = copied(job.optimizer->state());
  ASSERT_OK(resumed.optimizer->load_state(loaded));
  const std::vector<NamedParameter> before = copied(loaded);
  resumed.steps(2);
  expect_equal(loaded, before);
  for (const NamedParameter& part : loaded) part.value.zero_();
  Job same(make);
  ASSERT_OK(same.optimizer->load_state(before));
  same.steps(2);
  expect_equal(resumed.optimizer->state(), same.optimizer->state());
}

// Returns states that no optimizer of this kind can have, each with the error.
std::vector<std::pair<std::string, std::vector<NamedParameter>>> damaged_states(
    const std::vector<NamedParameter>& good) {
  std::vector<std::pair<std::string, std::vector<NamedParameter>>> states;
  const auto add = [&](const char* what) -> std::vector<NamedParameter>& {
    return states.emplace_back(what, good).second;
  };
  add("an unknown part").push_back({"net.weight/no_such_part", at::zeros({2, 3})});
  add("an unknown parameter").push_back({"no_such_parameter/step", at::zeros({}, at::kLong)});
  if (good.empty()) return states;
  add("a part that comes twice").push_back(good[0]);
  for (size_t i = 0; i < good.size(); ++i) {
    add("another shape")[i].value = at::zeros({3, 3, 3}, good[i].value.options());
    add("another type")[i].value = good[i].value.to(at::kHalf);
  }
  const std::string parameter = good[0].name.substr(0, good[0].name.rfind('/') + 1);
  if (good.size() > 1 && good[1].name.rfind(parameter, 0) == 0) {
    std::vector<NamedParameter>& state = add("a part that is missing");
    state.erase(state.begin());
  }
  return states;
}

void check_differences(const MakeDenseOptimizer& make) {
  Job job(make);
  job.steps(3);
  const std::vector<NamedParameter> good = copied(job.optimizer->state());
  EXPECT_THAT(job.optimizer->state_differences(good), testing::IsEmpty());
  for (const auto& [what, state] : damaged_states(good)) {
    EXPECT_THAT(job.optimizer->state_differences(state), testing::Not(testing::IsEmpty())) << what;
  }
}

void check_refused_state(const MakeDenseOptimizer& make) {
  Job job(make), twin(make);
  job.steps(3);
  twin.steps(3);
  const std::vector<NamedParameter> good = copied(job.optimizer->state());
  for (auto& [what, state] : damaged_states(good)) {
    SCOPED_TRACE(what);
    // The values differ from the loaded state, so that a state that is loaded in part shows.
    for (NamedParameter& part : state) part.value = part.value + 1;
    EXPECT_THAT(job.optimizer->load_state(state), StatusIs(absl::StatusCode::kInvalidArgument));
    expect_equal(job.optimizer->state(), good);
  }
  job.step();
  twin.step();
  expect_equal_values(job, twin);
}

}  // namespace

std::vector<Property> dense_optimizer_properties(const MakeDenseOptimizer& make) {
  const auto property = properties_of(make);
  return {
      property("NamesItsParameters", check_parameters),
      property("HasTheRateOfItsSchedule", check_rate),
      property("UpdatesParametersAlike", check_steps),
      property("KeepsParametersWithoutGradient", check_no_gradient),
      property("ZeroGradLeavesGradientsUndefined", check_zero_grad),
      property("RateZeroChangesNoParameter", check_rate_zero),
      property("NamesItsState", check_state_names),
      property("ContinuesFromItsState", check_continuation),
      property("ReplacesItsState", check_replacement),
      property("CopiesTheStateItLoads", check_copies),
      property("FindsDifferencesOfState", check_differences),
      property("RefusesOtherState", check_refused_state),
  };
}

bool register_dense_optimizer_conformance(const std::string& suite, const MakeDenseOptimizer& make,
                                          std::source_location place) {
  return register_properties(suite, dense_optimizer_properties(make), place);
}

}  // namespace millrace
