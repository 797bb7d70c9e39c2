// Rules of the configuration of row optimizers.
#ifndef MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_CHECK_H_
#define MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Each function checks the options of one message. Errors: InvalidArgument that begins with
// `where`, the place of the message in the configuration, and names the field that is out of range.
// Numbers must be finite in float32, in which tables compute.
absl::Status check_sparse_sgd(absl::string_view where, const SparseSgd& config);
absl::Status check_sparse_adagrad(absl::string_view where, const SparseAdagrad& config);
absl::Status check_sparse_adam(absl::string_view where, const SparseAdam& config);
absl::Status check_sparse_ftrl(absl::string_view where, const SparseFtrl& config);
// Checks the learning rate and the options of the chosen kind.
absl::Status check_sparse_optimizer(absl::string_view where, const SparseOptimizerConfig& config);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_CHECK_H_
