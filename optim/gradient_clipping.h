// Limits the size of a step's gradients.
#ifndef MILLRACE_OPTIM_GRADIENT_CLIPPING_H_
#define MILLRACE_OPTIM_GRADIENT_CLIPPING_H_

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optim/dense/named_parameter.h"
#include "proto/config.pb.h"

namespace millrace {

class SparseOptimizer;

// Clips the complete gradients of a step: summed over micro-batches and ranks, divided by the
// targets of the step, unscaled and finite. Every rank has the same sums, so that every rank gets
// the same norm and replicated parameters stay equal. Stateless.
//
// Clipping by norm multiplies gradients by min(1, max_norm / (norm + 1e-6)), as
// torch.nn.utils.clip_grad_norm_, where norm is the L2 norm over all numbers of all gradients, in
// double. Each row of a table counts once, with the sum over its occurrences. Clipping by value
// limits each number to [-max_value, max_value], as clip_grad_value_.
class GradientClipping {
 public:
  // The result of clipping one step.
  struct Result {
    // Arguments of SparseOptimizer::step(), which clips the gradients of tables.
    double table_scale = 1;
    double table_limit = std::numeric_limits<double>::infinity();
    // Norms before clipping, by name: "gradient_norm", or "gradient_norm/dense" and
    // "gradient_norm/tables" if both are clipped separately. Empty if clipped by value.
    std::vector<std::pair<std::string, double>> norms;
  };

  // Errors: as check_clipping(). REQUIRES: `config` has a limit.
  static absl::StatusOr<GradientClipping> create(const ClippingConfig& config);

  // Clips dense gradients in place; ignores undefined gradients. `tables` may be null.
  // `table_scale`: the factor by which SparseOptimizer::step() would multiply the sums of tables
  // without clipping.
  Result clip(absl::Span<const NamedParameter> parameters, SparseOptimizer* tables,
              double table_scale) const;

 private:
  explicit GradientClipping(const ClippingConfig& config) : config_(config) {}
  Result clip_by_norm(absl::Span<const NamedParameter> parameters, SparseOptimizer* tables,
                      double table_scale) const;
  Result clip_by_value(absl::Span<const NamedParameter> parameters, double table_scale) const;

  ClippingConfig config_;
};

// Returns the sum of squares over the gradients of all parameters, in double. For gradients on the
// CPU the order of additions is fixed (see sum_of_squares() of optim/dense/tensor_norm.h).
double squared_norm(absl::Span<const NamedParameter> parameters);

// Checks that there is a limit and that it is above 0. Errors: InvalidArgument that begins with
// `where`, the place of the message in the configuration.
absl::Status check_clipping(absl::string_view where, const ClippingConfig& config);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_GRADIENT_CLIPPING_H_
