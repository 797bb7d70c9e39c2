#include "framework/ranks/gradient_buckets.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "base/status_macros.h"

namespace millrace {
namespace {

at::ScalarType sum_type(const at::Tensor& parameter) {
  return parameter.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace

GradientBuckets::GradientBuckets(Collectives& collectives,
                                 absl::Span<const NamedParameter> parameters, int64_t max_elements)
    : collectives_(collectives), parameters_(parameters), max_elements_(max_elements) {}

// Returns true if the parameters that require a gradient are the same as in lay_out().
bool GradientBuckets::fits() const {
  if (required_.size() != parameters_.size()) return false;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (required_[i] != parameters_[i].value.requires_grad()) return false;
  }
  return true;
}

void GradientBuckets::lay_out() {
  buckets_.clear();
  required_.clear();
  for (const NamedParameter& parameter : parameters_) {
    required_.push_back(parameter.value.requires_grad());
  }
  // Parameters share a bucket, because each sum over ranks has a fixed cost.
  int64_t elements = 0;
  const auto close = [&] {
    if (buckets_.empty() || buckets_.back().flat.defined()) return;
    Bucket& bucket = buckets_.back();
    const at::Tensor& like = parameters_[bucket.parameters[0]].value;
    // One more element per parameter holds its flag, see Bucket::flat.
    bucket.flat = at::zeros({elements + static_cast<int64_t>(bucket.parameters.size())},
                            like.options().dtype(sum_type(like)));
    elements = 0;
  };
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!required_[i]) continue;
    const at::Tensor& value = parameters_[i].value;
    if (!buckets_.empty() && !buckets_.back().flat.defined()) {
      const at::Tensor& first = parameters_[buckets_.back().parameters[0]].value;
      // A bucket is one tensor, which has one type and one device.
      if (sum_type(first) != sum_type(value) || first.device() != value.device() ||
          elements + value.numel() > max_elements_) {
        close();
      }
    }
    if (buckets_.empty() || buckets_.back().flat.defined()) buckets_.emplace_back();
    buckets_.back().parameters.push_back(i);
    elements += value.numel();
  }
  close();
}

at::Tensor GradientBuckets::slice(const Bucket& bucket, int64_t begin,
                                  const at::Tensor& like) const {
  return bucket.flat.narrow(0, begin, like.numel()).view(like.sizes());
}

void GradientBuckets::start(bool contribute) {
  if (!fits()) lay_out();
  contribute_ = contribute;
  const c10::AutoGradMode no_gradients(false);
  for (Bucket& bucket : buckets_) {
    int64_t begin = 0;
    const int64_t count = static_cast<int64_t>(bucket.parameters.size());
    at::Tensor flags = bucket.flat.narrow(0, bucket.flat.numel() - count, count);
    for (int64_t i = 0; i < count; ++i) {
      const at::Tensor& value = parameters_[bucket.parameters[i]].value;
      const at::Tensor gradient = contribute ? value.grad() : at::Tensor();
      at::Tensor place = slice(bucket, begin, value);
      if (gradient.defined()) {
        place.copy_(gradient);
      } else {
        place.zero_();
      }
      flags.select(0, i).fill_(gradient.defined() ? 1 : 0);
      begin += value.numel();
    }
    bucket.pending = collectives_.start_sum(bucket.flat);
  }
}

absl::Status GradientBuckets::finish() {
  const c10::AutoGradMode no_gradients(false);
  absl::Status first;
  // Waits for all sums before an error returns: a running sum still writes into its bucket.
  for (Bucket& bucket : buckets_) first.Update(bucket.pending->wait());
  RETURN_IF_ERROR(first);
  for (Bucket& bucket : buckets_) {
    bucket.pending.reset();
    if (!contribute_) continue;
    int64_t begin = 0;
    const int64_t count = static_cast<int64_t>(bucket.parameters.size());
    // Reads all flags of a bucket at once, because each read waits for an accelerator.
    const at::Tensor flags =
        bucket.flat.narrow(0, bucket.flat.numel() - count, count).to(at::kCPU, at::kDouble);
    for (int64_t i = 0; i < count; ++i) {
      at::Tensor value = parameters_[bucket.parameters[i]].value;
      const at::Tensor sum = slice(bucket, begin, value);
      begin += value.numel();
      // No rank has this gradient. It remains undefined, so that optimizers skip the parameter.
      if (flags.const_data_ptr<double>()[i] == 0) continue;
      if (value.grad().defined()) {
        value.mutable_grad().copy_(sum);
      } else {
        value.mutable_grad() = sum.to(value.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
