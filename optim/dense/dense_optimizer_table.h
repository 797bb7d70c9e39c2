// The kinds of dense optimizers.
#ifndef MILLRACE_OPTIM_DENSE_DENSE_OPTIMIZER_TABLE_H_
#define MILLRACE_OPTIM_DENSE_DENSE_OPTIMIZER_TABLE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/dense/named_parameter.h"
#include "optim/schedule/schedule.h"
#include "proto/config.pb.h"

namespace millrace {

// One kind of dense optimizer. optim/dense_optimizer_check.cc has the check of its numbers, which
// compiles without LibTorch.
struct DenseOptimizerMember {
  // Returns an optimizer of these parameters. REQUIRES: check_dense_optimizer() accepts `config`,
  // which has this kind. Errors: as the factory of a registered optimizer.
  using Create = absl::StatusOr<std::unique_ptr<DenseOptimizer>> (*)(
      const DenseOptimizerConfig& config, std::vector<NamedParameter> parameters,
      std::unique_ptr<Schedule> schedule);

  DenseOptimizerConfig::KindCase kind = DenseOptimizerConfig::KIND_NOT_SET;
  Create create = nullptr;
};

// Returns one member for each kind of DenseOptimizerConfig. Valid forever; safe for concurrent use.
absl::Span<const DenseOptimizerMember> dense_optimizer_table();

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_DENSE_OPTIMIZER_TABLE_H_
