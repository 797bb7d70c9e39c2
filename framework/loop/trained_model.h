// A model with its optimizers.
#ifndef MILLRACE_FRAMEWORK_LOOP_TRAINED_MODEL_H_
#define MILLRACE_FRAMEWORK_LOOP_TRAINED_MODEL_H_

#include <memory>
#include <optional>
#include <vector>

#include "checkpoint/state/train_state.h"
#include "framework/model/model.h"
#include "framework/model/model_parts.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/gradient_clipping.h"
#include "optim/moving_average.h"
#include "optim/sparse_optimizer.h"

namespace millrace {

// A model and the objects that update it: everything that a step changes. Used on the trainer's
// thread.
struct TrainedModel {
  // Shared because LibTorch's modules hold one another by shared pointers; only this object keeps
  // it.
  std::shared_ptr<Model> model;
  std::vector<std::unique_ptr<DenseOptimizer>> dense_optimizers;
  std::unique_ptr<SparseOptimizer> sparse_optimizer;  // null: the model has no tables
  std::unique_ptr<MovingAverage> average;             // null: none is kept
  std::optional<GradientClipping> clipping;           // none: gradients are not clipped
  const ModelParts model_parts{*model};

  // Returns the moving average that evaluations take in place of the parameters; null: evaluations
  // take the parameters.
  MovingAverage* evaluated_average() const;

  // Returns tensors, optimizers and tables, with empty messages.
  TrainState tensors_and_tables() const;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_TRAINED_MODEL_H_
