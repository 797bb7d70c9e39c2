// Rules of the configuration of row optimizers.
#ifndef MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_CHECK_H_
#define MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the learning rate, and the numbers or the name of the kind that is chosen. Errors:
// InvalidArgument that begins with `where`, the place of the message in the configuration, and
// names the field that is out of range.
absl::Status check_sparse_optimizer(absl::string_view where, const SparseOptimizerConfig& config);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_CHECK_H_
