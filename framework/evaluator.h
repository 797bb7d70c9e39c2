// Metrics over a data set, with nothing changed.
#ifndef MILLRACE_FRAMEWORK_EVALUATOR_H_
#define MILLRACE_FRAMEWORK_EVALUATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "framework/events.h"
#include "framework/hook_list.h"
#include "framework/reported_values.h"
#include "io/dataset.h"

namespace millrace {

class Model;

// Data that is evaluated under a name.
struct EvaluationSet {
  std::string name;
  std::unique_ptr<Dataset> data;
};

struct EvaluationOptions {
  std::string name = "eval";
  std::vector<std::string> tasks;    // names of the labels
  std::vector<std::string> metrics;  // names of metrics
  int64_t max_steps = 0;             // batches at most; 0: all
};

// Runs the model over one epoch of `data` in evaluation mode, without gradients, and fires
// before_step, after_data and after_step for each batch; the caller fires what is around. Leaves
// parameters, tables, the model's training mode and random generators as they were. `values` are
// those that hooks reported meanwhile, taken into the result.
// Errors: those of the data, the model and hooks, annotated with the set's name;
// InvalidArgument if there is no example.
absl::StatusOr<EvaluationResult> run_evaluation(Model& model, Dataset& data,
                                                const EvaluationOptions& options,
                                                const Progress& progress, HookContext& context,
                                                HookList& hooks, ReportedValues& values,
                                                Clock& clock);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_EVALUATOR_H_
