// An exponential moving average of dense parameters.
#ifndef MILLRACE_OPTIM_MOVING_AVERAGE_H_
#define MILLRACE_OPTIM_MOVING_AVERAGE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "optim/dense/named_parameter.h"
#include "optim/dense/state_layout.h"
#include "proto/config.pb.h"

namespace millrace {

// Keeps the average of each trained parameter; frozen parameters and buffers have none:
//
//   average += (1 - d) * (parameter - average) after each step that was applied, with
//   d = decay, or with warmup min(decay, (1 + n) / (10 + n)) for n updates before this one.
//
// The average of a parameter without updates is the parameter, so that averages begin at the
// parameters that are loaded before the first step. float32 parameters are averaged in float32,
// float64 parameters in float64. Ranks with equal parameters have equal averages. One step:
//
//   average->before_update();
//   ...                         // the optimizers change the parameters
//   average->after_update();    // unless the step was refused
//
// Used on the trainer's thread.
class MovingAverage {
 public:
  // Borrows the parameters as handles to the model's own tensors, on any device.
  // Errors: InvalidArgument for a decay out of range and if no parameter requires a gradient.
  static absl::StatusOr<std::unique_ptr<MovingAverage>> create(
      const MovingAverageConfig& config, const std::vector<NamedParameter>& parameters);

  // Returns true if evaluations use the averages instead of the parameters.
  bool evaluates() const { return config_.evaluate(); }

  // Copies each parameter without an update into its average. Does nothing once all have an update.
  void before_update();
  // Moves each average towards its parameter.
  void after_update();

  // Exchanges parameters and averages, in place and bit by bit, and exchanges them back when the
  // object is destroyed. While the object exists, nothing may be saved, loaded or trained.
  class InPlace {
   public:
    // Null: does nothing.
    explicit InPlace(MovingAverage* average) : average_(average) {
      if (average_ != nullptr) average_->exchange();
    }
    ~InPlace() {
      if (average_ != nullptr) average_->exchange();
    }
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    MovingAverage* const average_;
  };

  // Returns "<parameter>/average_updates", int64 [], and "<parameter>/average", with the type and
  // shape of the parameter, for each averaged parameter, in their order. Counts are copies; steps
  // change the other tensors.
  std::vector<NamedParameter> state() const;
  // See DenseOptimizer::state_differences(). A parameter without state is no difference.
  std::vector<std::string> state_differences(const std::vector<NamedParameter>& state) const;
  // Replaces the state of all parameters by copies. The average of a parameter without state in
  // `state` begins again. Errors: InvalidArgument with the differences; nothing changes then.
  absl::Status load_state(const std::vector<NamedParameter>& state);

 private:
  struct Average {
    at::Tensor parameter;
    at::Tensor value;  // type and shape of the parameter; undefined content while `updates` is 0
    int64_t updates = 0;
  };

  MovingAverage(const MovingAverageConfig& config, std::vector<NamedParameter> parameters);
  void exchange();
  double weight(int64_t updates) const;

  const MovingAverageConfig config_;
  const std::vector<NamedParameter> parameters_;  // the averaged parameters
  const StateLayout layout_;
  std::vector<Average> averages_;  // of parameters_
  bool all_begun_ = false;
};

// Checks the moving average of `train`, if any: its numbers, and that some dense optimizer is not
// frozen. Errors: InvalidArgument naming the field.
absl::Status check_moving_average_of(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_MOVING_AVERAGE_H_
