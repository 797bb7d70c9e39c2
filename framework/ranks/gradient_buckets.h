// Dense gradients, summed over ranks.
#ifndef MILLRACE_FRAMEWORK_RANKS_GRADIENT_BUCKETS_H_
#define MILLRACE_FRAMEWORK_RANKS_GRADIENT_BUCKETS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "distributed/collectives.h"
#include "optim/dense/dense_optimizer.h"

namespace millrace {

// Copies the gradients of all parameters with requires_grad() into a few flat tensors, so that a
// step makes few large sums instead of many small ones. Sums are float32, for float64 parameters
// float64. A gradient that exists on no rank remains undefined, so that optimizers skip the
// parameter, as with one rank. A gradient that exists only on some ranks counts as zero on the
// others. Used on the trainer's thread.
class GradientBuckets {
 public:
  // Maximum number of elements of a bucket, unless one parameter has more.
  static constexpr int64_t kMaxElements = int64_t{25} << 18;  // 25 MiB of float32

  // Borrows all arguments. Parameters are the same on all ranks, in the same order.
  GradientBuckets(Collectives& collectives, absl::Span<const NamedParameter> parameters,
                  int64_t max_elements = kMaxElements);

  // Starts the sums. `contribute`: if false, this rank contributes zeros, and its gradients are
  // unchanged.
  void start(bool contribute);
  // Waits for the sums and copies them into the parameters' gradients. Errors: as Collectives.
  absl::Status finish();

 private:
  struct Bucket {
    at::Tensor flat;  // all gradients, then one flag each: the number of ranks with the gradient
    std::vector<size_t> parameters;
    std::unique_ptr<PendingCollective> pending;
  };

  void lay_out();
  bool fits() const;
  at::Tensor slice(const Bucket& bucket, int64_t begin, const at::Tensor& like) const;

  Collectives& collectives_;
  const absl::Span<const NamedParameter> parameters_;
  const int64_t max_elements_;
  std::vector<bool> required_;  // for which the buckets are laid out
  std::vector<Bucket> buckets_;
  bool contribute_ = true;  // to the sums under way
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_GRADIENT_BUCKETS_H_
