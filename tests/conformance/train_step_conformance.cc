#include "tests/conformance/train_step_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/conformance/train_step_bench.h"
#include "tests/conformance/train_step_ranks_conformance.h"
#include "tests/fakes/fake_dataset.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using train_step_testing::batches;
using train_step_testing::Bench;
using train_step_testing::clipping_by_norm;
using train_step_testing::MakeStep;
using train_step_testing::Watching;

void check_result(const MakeStep& make) {
  Bench bench(make);
  std::vector<Batch> micro_batches = batches(2, 4);
  micro_batches[1].weights = at::full({4}, 0.5);
  bench.model().on_output = [](ModelOutput& output) {
    output.loss = output.loss * 0 + 8;
    output.predictions = output.predictions * 0 + 0.25;
    output.metrics = {{"constant", at::scalar_tensor(3.0)}};
  };
  const std::string before = bench.state();
  ASSERT_OK_AND_ASSIGN(const StepResult result, bench.run(micro_batches));
  EXPECT_TRUE(result.applied);
  EXPECT_EQ(result.refused, "");
  EXPECT_EQ(result.examples, 8);
  EXPECT_EQ(result.loss.item<double>(), 2) << "the mean over 8 examples of a sum of 16";
  EXPECT_FALSE(result.loss.requires_grad());
  EXPECT_TRUE(at::equal(result.predictions, at::full({8, 1}, 0.25)));
  EXPECT_FALSE(result.predictions.requires_grad());
  EXPECT_TRUE(
      at::equal(result.labels, at::cat({micro_batches[0].labels, micro_batches[1].labels})));
  ASSERT_TRUE(result.weights.defined());
  EXPECT_TRUE(at::equal(result.weights, at::cat({at::ones({4}), at::full({4}, 0.5)})));
  ASSERT_EQ(result.values.size(), 1);
  EXPECT_EQ(result.values[0].name, "constant");
  EXPECT_EQ(result.values[0].value.item<double>(), 3) << "averaged over micro-batches";
  EXPECT_EQ(result.learning_rate, 0.1);
  EXPECT_NE(bench.state(), before) << "rows that were seen are there";
}

void check_observer(const MakeStep& make) {
  Bench bench(make, "sgd");
  const at::Tensor before = bench.parameter(0).detach().clone();
  ASSERT_OK(bench.run(batches(2, 4)));
  EXPECT_THAT(bench.observer.events,
              ElementsAre("after_data(0)", "after_data(1)", "after_backward"));
  ASSERT_EQ(bench.observer.dense.size(), 2);
  // The update of SGD is the rate times the gradient of after_backward.
  EXPECT_TRUE(at::allclose(before - 0.1 * bench.observer.dense[0], bench.parameter(0).detach()));
  EXPECT_GT(bench.observer.sparse_norm_squared, 0);
}

// Checks that the model gets the batches of its device, and hooks and metrics the batches of the
// CPU.
void check_device_batches(const MakeStep& make) {
  Bench bench(make);
  const std::vector<Batch> micro_batches = batches(2, 4);
  bench.on_device = micro_batches;
  for (Batch& batch : bench.on_device) batch.labels = 1 - batch.labels;
  std::vector<at::Tensor> seen;
  bench.model().on_forward = [&](const Batch& batch) {
    seen.push_back(batch.labels);
    return absl::OkStatus();
  };
  ASSERT_OK_AND_ASSIGN(const StepResult result, bench.run(micro_batches));
  ASSERT_EQ(seen.size(), 2);
  EXPECT_TRUE(seen[0].is_same(bench.on_device[0].labels));
  EXPECT_TRUE(seen[1].is_same(bench.on_device[1].labels));
  EXPECT_TRUE(
      at::equal(result.labels, at::cat({micro_batches[0].labels, micro_batches[1].labels})));
}

void check_seeding(const MakeStep& make) {
  // Returns the random numbers that the forward passes of a step draw.
  const auto drawn = [&](uint64_t seed, int64_t step, int rank) {
    Bench bench(make);
    std::vector<double> numbers;
    bench.model().on_forward = [&](const Batch&) {
      numbers.push_back(torch::rand({1}).item<double>());
      return absl::OkStatus();
    };
    bench.seed = seed;
    bench.progress.step = step;
    bench.rank = rank;
    EXPECT_OK(bench.run(batches(2, 4)));
    return numbers;
  };
  const std::vector<double> numbers = drawn(1, 7, 0);
  ASSERT_EQ(numbers.size(), 2) << "one forward pass for each micro-batch";
  EXPECT_NE(numbers[0], numbers[1]) << "micro-batches share their random numbers";
  torch::rand({100});
  EXPECT_EQ(drawn(1, 7, 0), numbers) << "what was drawn before matters";
  for (const auto& [what, other] :
       {std::pair("seed", drawn(2, 7, 0)), {"step", drawn(1, 8, 0)}, {"rank", drawn(1, 7, 1)}}) {
    ASSERT_EQ(other.size(), 2) << what;
    EXPECT_NE(other[0], numbers[0]) << what;
    EXPECT_NE(other[1], numbers[1]) << what;
    EXPECT_NE(other[0], numbers[1]) << what;
  }
}

void check_micro_batches(const MakeStep& make) {
  const auto trained = [&](int64_t micro_batches, bool targets) {
    Bench bench(make);
    bench.model().gives_targets = targets;
    for (int step = 0; step < 3; ++step)
      EXPECT_OK(bench.run(batches(micro_batches, 16 / micro_batches)));
    return bench.predictions();
  };
  for (const bool targets : {false, true}) {
    const at::Tensor whole = trained(1, targets);
    for (const int64_t micro_batches : {2, 4, 16}) {
      EXPECT_TRUE(at::allclose(trained(micro_batches, targets), whole, 1e-5, 1e-6))
          << micro_batches << " micro-batches" << (targets ? " with targets" : "");
    }
  }
}

// Checks that loss and gradients are divided by the examples of all ranks, or by the targets.
void check_division(const MakeStep& make) {
  // Returns the gradient; undefined if the observer saw none.
  const auto gradient = [&](int64_t examples, bool targets) {
    Bench bench(make, "sgd");
    bench.model().gives_targets = targets;
    const absl::StatusOr<StepResult> result = bench.run(batches(1, 8), examples);
    EXPECT_OK(result);
    if (result.ok() && targets) {
      EXPECT_TRUE(result->loss_targets.defined() && result->loss_targets.item<double>() == 4)
          << "StepResult::loss_targets must be those of the decision";
    }
    return bench.observer.dense.empty() ? at::Tensor() : bench.observer.dense[0];
  };
  const at::Tensor of_8 = gradient(8, false), of_16 = gradient(16, false);
  const at::Tensor of_8_targets = gradient(8, true), of_16_targets = gradient(16, true);
  for (const at::Tensor& each : {of_8, of_16, of_8_targets, of_16_targets}) {
    ASSERT_TRUE(each.defined()) << "after_backward saw no gradient";
  }
  EXPECT_TRUE(at::allclose(of_16 * 2, of_8));
  EXPECT_TRUE(at::allclose(of_8_targets, of_8 * 2));
  EXPECT_TRUE(at::allclose(of_16_targets, of_8_targets))
      << "the number of examples must not matter where there are targets";
}

// Returns batches with two labels. Of 16 examples, 12 have the first label and 3 the second.
std::vector<Batch> batches_of_tasks(int64_t count, int64_t size) {
  FakeDataset data({.batches = count, .batch_size = size, .sparse = 2, .two_labels = true});
  std::vector<Batch> batches;
  EXPECT_OK(data.start_epoch(0));
  for (int64_t i = 0; i < count; ++i) batches.push_back(**data.next());
  return batches;
}

// The outcome of three steps.
struct TaskSteps {
  at::Tensor predictions;
  at::Tensor losses;  // [steps, tasks]
};

// Trains three steps over tasks, each in `micro_batches` micro-batches.
void train_tasks(const MakeStep& make, int64_t micro_batches, TaskSteps* trained) {
  Bench bench(make);
  bench.model().counts_targets = true;
  std::vector<at::Tensor> losses;
  for (int step = 0; step < 3; ++step) {
    ASSERT_OK_AND_ASSIGN(const StepResult result,
                         bench.run(batches_of_tasks(micro_batches, 16 / micro_batches)));
    EXPECT_TRUE(result.applied);
    EXPECT_THAT(result.task_targets, ElementsAre(12, 3));
    ASSERT_TRUE(result.task_losses.defined());
    EXPECT_TRUE(at::allclose(result.loss, result.task_losses.sum()));
    losses.push_back(result.task_losses);
  }
  *trained = {bench.predictions(), at::stack(losses)};
}

// Checks that the loss of each task is divided by its targets in all micro-batches.
void check_tasks(const MakeStep& make) {
  TaskSteps whole_batches;
  train_tasks(make, 1, &whole_batches);
  ASSERT_TRUE(whole_batches.losses.defined());
  for (const int64_t micro_batches : {2, 4, 16}) {
    SCOPED_TRACE(absl::StrCat(micro_batches, " micro-batches"));
    TaskSteps other;
    train_tasks(make, micro_batches, &other);
    ASSERT_TRUE(other.losses.defined());
    EXPECT_TRUE(at::allclose(other.predictions, whole_batches.predictions, 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(other.losses, whole_batches.losses, 1e-5, 1e-6));
  }
  // The expected values are means over targets, in the first step.
  Bench bench(make, "sgd");
  bench.model().counts_targets = true;
  const std::vector<Batch> whole = batches_of_tasks(1, 16);
  const at::Tensor sums = bench.model().forward(whole[0])->loss.detach();
  bench.parts().sparse_optimizer->discard();
  ASSERT_OK_AND_ASSIGN(const StepResult result, bench.run(whole));
  ASSERT_TRUE(result.task_losses.defined());
  EXPECT_TRUE(at::allclose(result.task_losses, sums / at::tensor({12.0f, 3.0f})));
}

// Checks that a task without a target in the step has no effect.
void check_tasks_without_targets(const MakeStep& make) {
  double loss = 0, loss_alone = 0;
  at::Tensor weight, weight_alone;
  const auto run = [&](bool with_second_label, double* step_loss, at::Tensor* step_weight) {
    Bench bench(make, "sgd");
    bench.model().counts_targets = true;
    std::vector<Batch> step = batches_of_tasks(2, 8);
    for (Batch& batch : step) {
      batch.labels = batch.labels.clone();
      if (with_second_label) {
        batch.labels.select(1, 1).fill_(std::numeric_limits<float>::quiet_NaN());
      } else {
        batch.labels = batch.labels.narrow(1, 0, 1);
      }
    }
    ASSERT_OK_AND_ASSIGN(const StepResult result, bench.run(step));
    EXPECT_TRUE(result.applied);
    ASSERT_TRUE(result.task_losses.defined());
    EXPECT_EQ(result.task_losses.size(0), with_second_label ? 2 : 1);
    *step_loss = result.loss.item<double>();
    *step_weight = bench.parameter(0).detach().clone();
  };
  run(true, &loss, &weight);
  run(false, &loss_alone, &weight_alone);
  ASSERT_TRUE(weight.defined() && weight_alone.defined());
  EXPECT_DOUBLE_EQ(loss, loss_alone);
  EXPECT_TRUE(at::allclose(weight, weight_alone));

  Bench bench(make, "sgd");
  bench.model().counts_targets = true;
  std::vector<Batch> step = batches_of_tasks(1, 8);
  step[0].labels = at::full({8, 2}, std::numeric_limits<float>::quiet_NaN());
  const at::Tensor before = bench.parameter(0).detach().clone();
  ASSERT_OK_AND_ASSIGN(const StepResult result, bench.run(step));
  EXPECT_TRUE(result.applied);
  EXPECT_EQ(result.loss.item<double>(), 0);
  EXPECT_TRUE(at::equal(bench.parameter(0).detach(), before));
}

// Checks that a refused or failed `spoiled_step` leaves no trace: the next steps equal, bit for
// bit, steps without a spoiled step.
void check_undone(const MakeStep& make, const std::function<void(Bench&)>& spoiled_step) {
  Bench bench(make);
  Bench reference(make);
  for (Bench* each : {&bench, &reference}) ASSERT_OK(each->run(batches(2, 4)));
  const std::string before = bench.state();
  ASSERT_EQ(before, reference.state());
  spoiled_step(bench);
  bench.model().on_forward = nullptr;
  bench.model().on_output = nullptr;
  bench.model().on_pooled_gradient = nullptr;
  bench.model().gives_targets = false;
  bench.observer.fail_at = "";
  EXPECT_EQ(bench.state(), before) << "parameters or rows changed";
  for (Bench* each : {&bench, &reference}) {
    ASSERT_OK(each->run(batches(1, 8)));
    ASSERT_OK(each->run(batches(2, 4)));
  }
  EXPECT_EQ(bench.state(), reference.state()) << "gradients, counts or optimizer state were left";
}

void check_refusal(const MakeStep& make) {
  const auto expect_refused = [](Bench& bench, const std::vector<Batch>& micro_batches) {
    bench.observer.events.clear();
    const absl::StatusOr<StepResult> result = bench.run(micro_batches);
    ASSERT_OK(result);
    EXPECT_FALSE(result->applied);
    EXPECT_NE(result->refused, "") << "what was not finite?";
    EXPECT_EQ(result->examples, 8);
    for (const std::string& event : bench.observer.events) EXPECT_NE(event, "after_backward");
  };
  for (const int64_t nan_at : {0, 1}) {
    SCOPED_TRACE(absl::StrCat("the loss of micro-batch ", nan_at, " is not a number"));
    check_undone(make, [&](Bench& bench) { expect_refused(bench, batches(2, 4, nan_at)); });
  }
  for (const double value :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    SCOPED_TRACE(absl::StrCat("the loss is finite, a gradient is ", value));
    check_undone(make, [&](Bench& bench) {
      const auto handle =
          bench.parameter(0).register_hook([&](at::Tensor gradient) { return gradient * value; });
      expect_refused(bench, batches(2, 4));
      bench.parameter(0).remove_hook(handle);
    });
    SCOPED_TRACE("only the gradient of a table is not finite");
    check_undone(make, [&](Bench& bench) {
      bench.model().on_pooled_gradient = [&](at::Tensor gradient) { return gradient * value; };
      expect_refused(bench, batches(2, 4));
      const absl::StatusOr<StepResult> again = bench.run(batches(2, 4));
      ASSERT_OK(again);
      EXPECT_THAT(again->refused, testing::HasSubstr("features s0, s1 of table items"));
      bench.model().on_pooled_gradient = nullptr;
    });
  }
}

void check_step_at_error(const MakeStep& make, const char* what,
                         const std::function<void(Bench&)>& prepare) {
  SCOPED_TRACE(what);
  check_undone(make, [&](Bench& bench) {
    prepare(bench);
    EXPECT_FALSE(bench.run(batches(2, 4)).ok());
  });
}

void check_errors(const MakeStep& make) {
  for (const char* event : {"after_data(0)", "after_data(1)"}) {
    check_step_at_error(make, event, [&](Bench& bench) { bench.observer.fail_at = event; });
  }
  // The first forward pass fails, or the second, when gradients and rows already exist.
  for (const int failing : {1, 2}) {
    check_step_at_error(make, "an error of the model", [&](Bench& bench) {
      bench.model().on_forward = [=, calls = 0](const Batch&) mutable {
        return ++calls == failing ? absl::DataLossError("planted") : absl::OkStatus();
      };
    });
    check_step_at_error(make, "an exception of the model", [&](Bench& bench) {
      bench.model().on_forward = [=, calls = 0](const Batch&) mutable {
        if (++calls == failing) throw std::runtime_error("planted");
        return absl::OkStatus();
      };
    });
    const auto spoil = [&](const char* what, const std::function<void(ModelOutput&)>& spoil) {
      check_step_at_error(make, what, [&](Bench& bench) {
        bench.model().on_output = [=, calls = 0](ModelOutput& output) mutable {
          if (++calls == failing) spoil(output);
        };
      });
    };
    spoil("no loss", [](ModelOutput& output) { output.loss = at::Tensor(); });
    spoil("a loss for each example", [](ModelOutput& output) { output.loss = at::zeros({4}); });
    spoil("no predictions", [](ModelOutput& output) { output.predictions = at::Tensor(); });
    spoil("flat predictions", [](ModelOutput& output) { output.predictions = at::zeros({4}); });
    spoil("too few predictions", [](ModelOutput& output) {
      output.predictions = at::zeros({3, 1});
    });
    spoil("another number of tasks", [](ModelOutput& output) {
      output.predictions = at::zeros({4, 2});
    });
    spoil("targets in one micro-batch", [](ModelOutput& output) { output.targets = at::ones({}); });
    spoil("targets for each example", [](ModelOutput& output) { output.targets = at::ones({4}); });
    spoil("a metric for each example", [](ModelOutput& output) {
      output.metrics = {{"x", at::ones({4})}};
    });
  }
  check_step_at_error(make, "targets that add up to nothing", [](Bench& bench) {
    bench.model().on_output = [](ModelOutput& output) { output.targets = at::zeros({}); };
  });
  check_step_at_error(make, "an exception in the backward pass", [](Bench& bench) {
    bench.model().on_output = [](ModelOutput& output) {
      output.loss.register_hook(
          [](at::Tensor) -> at::Tensor { throw std::runtime_error("planted"); });
    };
  });
}

// Checks that an error retained by a collection in a backward pass does not surface after the
// update of the dense parameters.
void check_kept_errors(const MakeStep& make) {
  check_undone(make, [](Bench& bench) {
    bench.model().on_pooled_gradient = [](at::Tensor gradient) {
      return gradient.clone().requires_grad_();
    };
    bench.observer.events.clear();
    EXPECT_THAT(bench.run(batches(2, 4)), StatusIs(absl::StatusCode::kUnimplemented,
                                                   testing::HasSubstr("second derivatives")));
    EXPECT_THAT(bench.observer.events, testing::Not(testing::Contains("after_backward")))
        << "the ranks decided to apply the step";
  });
}

void check_models_without_parameters(const MakeStep& make) {
  // A loss without parameters is no error: the step is applied and changes no parameter.
  Bench bench(make);
  bench.model().on_output = [](ModelOutput& output) { output.loss = at::scalar_tensor(1.0); };
  const at::Tensor before = bench.parameter(0).detach().clone();
  ASSERT_OK_AND_ASSIGN(const StepResult result, bench.run(batches(1, 8)));
  EXPECT_TRUE(result.applied);
  EXPECT_TRUE(at::equal(before, bench.parameter(0).detach()));
}

double norm(const Watching& observer) {
  double squares = observer.sparse_norm_squared;
  for (const at::Tensor& gradient : observer.dense) {
    if (gradient.defined()) squares += gradient.square().sum().item<double>();
  }
  return std::sqrt(squares);
}

// Checks that a step of several micro-batches is clipped once, over dense parameters and tables
// together.
void check_clipping(const MakeStep& make) {
  Bench plain(make, "sgd"), clipped(make, "sgd");
  ASSERT_OK(plain.run(batches(2, 4)));
  const double whole = norm(plain.observer);
  clipped.clipping = clipping_by_norm(whole / 2);
  const at::Tensor before = clipped.parameter(0).detach().clone();
  ASSERT_OK_AND_ASSIGN(const StepResult result, clipped.run(batches(2, 4)));
  ASSERT_EQ(result.figures.size(), 1u);
  EXPECT_EQ(result.figures[0].first, "gradient_norm");
  EXPECT_NEAR(result.figures[0].second, whole, 1e-6 * whole) << "before clipping";
  EXPECT_NEAR(norm(clipped.observer), whole / 2, 1e-4 * whole) << "after_backward sees the result";
  ASSERT_FALSE(clipped.observer.dense.empty());
  EXPECT_TRUE(
      at::allclose(before - 0.1 * clipped.observer.dense[0], clipped.parameter(0).detach()));
  EXPECT_LT((clipped.predictions() - plain.predictions()).abs().max().item<double>(), 1);
  EXPECT_FALSE(at::equal(clipped.predictions(), plain.predictions()));
}

// Uses a power of two, so that scaling and division restore the bits of gradients.
void check_loss_scale(const MakeStep& make) {
  for (const bool gives_targets : {false, true}) {
    SCOPED_TRACE(gives_targets);
    Bench plain(make), scaled(make);
    scaled.loss_scale = 4096;
    for (int step = 0; step < 3; ++step) {
      std::vector<StepResult> results;
      for (Bench* bench : {&plain, &scaled}) {
        bench->model().gives_targets = gives_targets;
        bench->clipping = clipping_by_norm(0.01);
        ASSERT_OK_AND_ASSIGN(StepResult result, bench->run(batches(3, 4)));
        ASSERT_TRUE(result.applied);
        results.push_back(std::move(result));
      }
      EXPECT_EQ(results[0].loss.item<float>(), results[1].loss.item<float>());
      EXPECT_EQ(results[0].figures, results[1].figures) << "norms of the unscaled gradients";
    }
    EXPECT_EQ(plain.state(), scaled.state());
    ASSERT_EQ(plain.observer.dense.size(), scaled.observer.dense.size());
    for (size_t i = 0; i < plain.observer.dense.size(); ++i) {
      EXPECT_TRUE(at::equal(plain.observer.dense[i], scaled.observer.dense[i]));
    }
    EXPECT_EQ(plain.observer.sparse_norm_squared, scaled.observer.sparse_norm_squared);
  }
}

void check_precision(const MakeStep& make) {
  for (const auto compute :
       {PrecisionConfig::FLOAT32, PrecisionConfig::BFLOAT16, PrecisionConfig::FLOAT16}) {
    SCOPED_TRACE(PrecisionConfig::Compute_Name(compute));
    const at::ScalarType expected = compute == PrecisionConfig::FLOAT32    ? at::kFloat
                                    : compute == PrecisionConfig::BFLOAT16 ? at::kBFloat16
                                                                           : at::kHalf;
    const auto type = [] { return at::mm(at::ones({1, 1}), at::ones({1, 1})).scalar_type(); };
    Bench bench(make);
    bench.compute = compute;
    std::vector<at::ScalarType> forward, backward;
    bench.model().on_forward = [&](const Batch&) {
      forward.push_back(type());
      return absl::OkStatus();
    };
    bench.model().on_pooled_gradient = [&](at::Tensor gradient) {
      backward.push_back(type());
      return gradient;
    };
    ASSERT_OK_AND_ASSIGN(const StepResult result, bench.run(batches(2, 4)));
    EXPECT_TRUE(result.applied);
    EXPECT_THAT(forward, ElementsAre(expected, expected));
    EXPECT_THAT(backward, ElementsAre(at::kFloat, at::kFloat)) << "autocast is for forward passes";
    EXPECT_EQ(type(), at::kFloat) << "autocast was left on";
    for (const at::Tensor& gradient : bench.observer.dense) {
      EXPECT_EQ(gradient.scalar_type(), at::kFloat);
    }
    // A model that fails leaves nothing enabled either.
    bench.model().on_forward = [](const Batch&) -> absl::Status {
      throw std::runtime_error("planted");
    };
    EXPECT_FALSE(bench.run(batches(1, 4)).ok());
    EXPECT_EQ(type(), at::kFloat);
  }
}

// Checks, for a step that may be repeated, that the remains of a refused computation do not change
// the next step.
void check_repeating(const MakeStep& make) {
  if (!make()->can_repeat()) return;
  Bench once(make), repeated(make);
  ASSERT_OK(once.run(batches(2, 4)));
  bool spoils = true;
  repeated.model().on_pooled_gradient = [&](at::Tensor gradient) {
    return spoils ? gradient / 0 : gradient;
  };
  ASSERT_OK_AND_ASSIGN(const StepResult refused, repeated.run(batches(2, 4)));
  EXPECT_FALSE(refused.applied);
  EXPECT_TRUE(std::isfinite(refused.loss.item<double>())) << "the loss of the refused step";
  spoils = false;
  ASSERT_OK_AND_ASSIGN(const StepResult applied, repeated.run(batches(2, 4)));
  EXPECT_TRUE(applied.applied);
  EXPECT_EQ(once.state(), repeated.state());
}

}  // namespace

std::vector<Property> train_step_properties(const MakeStep& make) {
  const auto property = properties_of(make);
  std::vector<Property> properties = {
      property("ReturnsTheResult", check_result),
      property("CallsTheObserver", check_observer),
      property("GivesTheModelBatchesOfItsDevice", check_device_batches),
      property("SeedsEachForwardPass", check_seeding),
      property("DoesNotDependOnMicroBatches", check_micro_batches),
      property("DividesByExamplesOrTargets", check_division),
      property("RefusesWhatIsNotFinite", check_refusal),
      property("UndoesAFailedStep", check_errors),
      property("UndoesAFailedBackwardPassOfATable", check_kept_errors),
      property("AppliesALossOfNoParameter", check_models_without_parameters),
      property("DividesEachTaskByItsTargets", check_tasks),
      property("OmitsTasksWithoutTargets", check_tasks_without_targets),
      property("ClipsOnce", check_clipping),
      property("DividesByTheLossScale", check_loss_scale),
      property("ComputesInThePrecision", check_precision),
      property("RepeatsIfItSaysSo", check_repeating),
  };
  for (Property& of_ranks : train_step_testing::train_step_ranks_properties(make)) {
    properties.push_back(std::move(of_ranks));
  }
  return properties;
}

bool register_train_step_conformance(const std::string& suite, const MakeStep& make,
                                     std::source_location place) {
  return register_properties(suite, train_step_properties(make), place);
}

}  // namespace millrace
