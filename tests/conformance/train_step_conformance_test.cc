#include "tests/conformance/train_step_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

enum class Fault {
  kAnotherLoss,
  kHidesEvents,
  kSeedsAlike,
  kOmitsMicroBatches,
  kDividesByOwnExamples,
  kIgnoresTargets,
  kHidesRefusals,
  kDoesNotClip,
  kAlwaysFloat32,
  kMovesParameters,
  kKeepsTheLossScale,
  kIgnoresTheDevice,
  kFails,
};

// Forwards events to the observer of the trainer, with the faults of an observer.
class FaultyObserver : public StepObserver {
 public:
  FaultyObserver(StepObserver& observer, const TrainStepParts& parts, const StepInput& input,
                 Fault fault)
      : observer_(observer), parts_(parts), input_(input), fault_(fault) {}

  absl::Status after_data(const Batch& batch, int64_t micro_batch) override {
    if (fault_ == Fault::kHidesEvents) return absl::OkStatus();
    return observer_.after_data(batch, micro_batch);
  }

  void after_backward(const Gradients& gradients) override {
    if (fault_ == Fault::kKeepsTheLossScale) {
      for (const NamedParameter& parameter : parts_.parameters) {
        at::Tensor gradient = parameter.value.grad();
        if (gradient.defined()) gradient.mul_(input_.loss_scale);
      }
    }
    observer_.after_backward(gradients);
  }

 private:
  StepObserver& observer_;
  const TrainStepParts& parts_;
  const StepInput& input_;
  const Fault fault_;
};

// The standard step with one fault.
class FaultyTrainStep : public TrainStep {
 public:
  explicit FaultyTrainStep(Fault fault) : fault_(fault) {}

  absl::StatusOr<StepResult> run(const TrainStepParts& parts, const StepInput& input,
                                 StepObserver& observer) override {
    if (fault_ == Fault::kFails) return absl::InternalError("planted");
    TrainStepParts changed_parts = parts;
    if (fault_ == Fault::kDoesNotClip) changed_parts.clipping = nullptr;
    if (fault_ == Fault::kAlwaysFloat32) changed_parts.compute = PrecisionConfig::FLOAT32;
    FaultyObserver faulty(observer, parts, input, fault_);
    absl::StatusOr<StepResult> result = standard_->run(changed_parts, change(input), faulty);
    if (fault_ == Fault::kMovesParameters) {
      const c10::AutoGradMode no_gradients(false);
      for (const NamedParameter& parameter : parts.parameters) {
        at::Tensor value = parameter.value;
        value.add_(1e-3);
      }
    }
    RETURN_IF_ERROR(result.status());
    if (fault_ == Fault::kAnotherLoss) result->loss = result->loss / 2;
    if (fault_ == Fault::kHidesRefusals) result->applied = true;
    return result;
  }

  bool can_repeat() const override { return standard_->can_repeat(); }

 private:
  // Returns the input, changed if the fault is a fault of the input.
  StepInput change(const StepInput& input) const {
    StepInput changed = input;
    if (fault_ == Fault::kSeedsAlike) changed.seed = 1;
    if (fault_ == Fault::kOmitsMicroBatches) {
      changed.micro_batches = input.micro_batches.subspan(0, 1);
    }
    if (fault_ == Fault::kDividesByOwnExamples) {
      int64_t examples = 0;
      for (const Batch& batch : input.micro_batches) examples += batch.size;
      changed.examples = std::max<int64_t>(examples, 1);
    }
    if (fault_ == Fault::kIgnoresTargets) changed.targets = {};
    if (fault_ == Fault::kIgnoresTheDevice) changed.on_device = {};
    return changed;
  }

  const Fault fault_;
  const std::unique_ptr<TrainStep> standard_ = create_standard_train_step();
};

std::vector<Property> properties_of_fault(Fault fault) {
  return train_step_properties([=] { return std::make_unique<FaultyTrainStep>(fault); });
}

std::vector<std::string> failing(Fault fault) {
  return failing_properties(properties_of_fault(fault));
}

// framework/loop/train_step_test.cc shows that the standard step passes.
TEST(TrainStepConformanceTest, EachFaultFailsItsProperty) {
  EXPECT_THAT(failing(Fault::kAnotherLoss), Contains("ReturnsTheResult"));
  EXPECT_THAT(failing(Fault::kHidesEvents), Contains("CallsTheObserver"));
  EXPECT_THAT(failing(Fault::kSeedsAlike), ElementsAre("SeedsEachForwardPass"));
  EXPECT_THAT(failing(Fault::kOmitsMicroBatches), Contains("DoesNotDependOnMicroBatches"));
  EXPECT_THAT(failing(Fault::kDividesByOwnExamples),
              IsSupersetOf({"DividesByExamplesOrTargets", "TrainsAlikeOnTwoRanks"}));
  EXPECT_THAT(failing(Fault::kIgnoresTargets),
              IsSupersetOf({"DividesEachTaskByItsTargets", "OmitsTasksWithoutTargets",
                            "DividesEachTaskByTheTargetsOfAllRanks"}));
  EXPECT_THAT(failing(Fault::kHidesRefusals),
              IsSupersetOf({"RefusesWhatIsNotFinite", "RefusesAndFailsOnAllRanks"}));
  EXPECT_THAT(failing(Fault::kDoesNotClip),
              IsSupersetOf({"ClipsOnce", "ClipsByTheNormOfAllRanks"}));
  EXPECT_THAT(failing(Fault::kAlwaysFloat32), ElementsAre("ComputesInThePrecision"));
  EXPECT_THAT(failing(Fault::kMovesParameters),
              IsSupersetOf({"UndoesAFailedStep", "UndoesAFailedBackwardPassOfATable",
                            "AppliesALossOfNoParameter", "RepeatsIfItSaysSo"}));
  EXPECT_THAT(failing(Fault::kKeepsTheLossScale), Contains("DividesByTheLossScale"));
  EXPECT_THAT(failing(Fault::kIgnoresTheDevice), ElementsAre("GivesTheModelBatchesOfItsDevice"));
}

// Each property must fail for a step that always fails, without a crash.
TEST(TrainStepConformanceTest, AStepThatAlwaysFailsFailsThem) {
  EXPECT_EQ(failing(Fault::kFails).size(), properties_of_fault(Fault::kFails).size());
}

}  // namespace
}  // namespace millrace
