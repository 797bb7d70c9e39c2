// Dense optimizers from a configuration.
#ifndef MILLRACE_OPTIM_DENSE_OPTIMIZER_FACTORY_H_
#define MILLRACE_OPTIM_DENSE_OPTIMIZER_FACTORY_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/dense/named_parameter.h"
#include "optim/schedule/schedule.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns one optimizer of all these parameters; Adam if `config` chooses no kind. `totals`: the
// totals of training, for schedules with shares of a total.
// Errors: InvalidArgument for numbers out of range and for a configuration that is frozen.
absl::StatusOr<std::unique_ptr<DenseOptimizer>> create_dense_optimizer(
    const DenseOptimizerConfig& config, std::vector<NamedParameter> parameters,
    const ScheduleTotals& totals = {});

// Deals parameters out to configurations by their patterns (optim/name_pattern.h); the first match
// wins. Parameters of a frozen configuration no longer require a gradient; they must be the model's
// own tensors. Returns one optimizer for each configuration that is not frozen, in their order. A
// model without parameters needs none.
// Errors: InvalidArgument for a parameter that no pattern matches and for a pattern without
// parameters, naming the nearest; as create_dense_optimizer().
absl::StatusOr<std::vector<std::unique_ptr<DenseOptimizer>>> create_dense_optimizers(
    const std::vector<DenseOptimizerConfig>& configs, const std::vector<NamedParameter>& parameters,
    const ScheduleTotals& totals = {});

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_OPTIMIZER_FACTORY_H_
