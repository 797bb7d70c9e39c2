// Losses, which training minimises for each task.
#ifndef MILLRACE_LOSSES_LOSS_H_
#define MILLRACE_LOSSES_LOSS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/strings/string_view.h"

namespace millrace {

// Examples that have the label of a task. Labels and weights are on the device of the outputs,
// groups on the same device or on the CPU.
struct LossExamples {
  at::Tensor labels;   // float [examples]: numbers, never not-a-number
  at::Tensor weights;  // float [examples], at least 0, or undefined: all 1
  at::Tensor
      group_ids;  // int64 [examples], or undefined; always defined for a loss that needs groups
};

// The labels that a loss accepts.
enum class LossLabels {
  kProbabilities,  // in [0, 1]
  kGrades,         // at least 0: higher ranks above lower
  kNumbers,        // any number
};

// A loss over a model's outputs for one task, float32 or float64 [examples]. docs/losses.md has the
// formulas. Immutable, and so thread-safe.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss, create_loss(task_config));
//   at::Tensor mean = loss->sum(outputs, examples) / loss->count_targets(examples);
//
// To add a loss to a job, register a subclass with MILLRACE_REGISTER_LOSS (loss_registry.h). To add
// a built-in loss, add a class in the file of its theme, a field of TaskConfig, a line in
// loss_registry.cc, and a row of docs/losses.md. Both need a test that calls
// register_loss_conformance (loss_conformance.h).
class Loss {
 public:
  virtual ~Loss() = default;

  // Returns the registered name, or the name of the field of TaskConfig, such as "focal".
  virtual absl::string_view name() const = 0;

  // Returns the sum over examples or pairs, with gradients: a scalar of the type of `outputs`; 0
  // without examples.
  virtual at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const = 0;

  // Returns the number that divides the sum. Must depend only on labels and groups. The default
  // returns the number of examples.
  virtual int64_t count_targets(const LossExamples& examples) const {
    return examples.labels.size(0);
  }
  // Returns false if count_targets() may differ from the number of examples. The default returns
  // true.
  virtual bool targets_are_examples() const { return true; }

  // Returns predictions for metrics, of the shape of `outputs`. The default returns `outputs`.
  virtual at::Tensor predict(const at::Tensor& outputs) const { return outputs; }
  // Returns true if predictions are probabilities. The default returns false.
  virtual bool predicts_probabilities() const { return false; }

  // Returns true if the loss compares examples of one group. The default returns false.
  virtual bool needs_groups() const { return false; }
  // Returns the labels that the loss accepts. The default accepts any number.
  virtual LossLabels labels() const { return LossLabels::kNumbers; }
};

}  // namespace millrace

#endif  // MILLRACE_LOSSES_LOSS_H_
