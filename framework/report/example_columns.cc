#include "framework/report/example_columns.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

namespace millrace {
namespace {

at::Tensor join(const std::vector<at::Tensor>& parts) {
  return parts.size() == 1 ? parts[0] : at::cat(parts);
}

}  // namespace

FirstIds first_ids(const Batch& batch, int64_t feature) {
  const at::Tensor& values = batch.sparse.values;
  const at::Tensor begins = batch.sparse.offsets.narrow(0, feature * batch.size, batch.size);
  const at::Tensor ends = batch.sparse.offsets.narrow(0, feature * batch.size + 1, batch.size);
  if (values.numel() == 0) return {at::zeros_like(begins), at::zeros_like(begins, at::kBool)};
  const at::Tensor present = begins.lt(ends);
  // The offsets of trailing examples without an id are the end of the values.
  return {values.gather(0, begins.clamp_max(values.numel() - 1)).mul(present), present};
}

void add_example_columns(absl::Span<const Batch> batches, absl::Span<const SliceOptions> slices,
                         StepResult& step) {
  std::vector<at::Tensor> groups;
  for (const Batch& batch : batches) {
    if (batch.size > 0 && batch.group_ids.defined()) groups.push_back(batch.group_ids);
  }
  step.groups = groups.empty() ? at::Tensor() : join(groups);
  step.slices.clear();
  for (const SliceOptions& slice : slices) {
    std::vector<at::Tensor> ids, present;
    for (const Batch& batch : batches) {
      FirstIds first = batch.size > 0
                           ? first_ids(batch, slice.feature)
                           : FirstIds{at::empty({0}, at::kLong), at::empty({0}, at::kBool)};
      ids.push_back(std::move(first.ids));
      present.push_back(std::move(first.present));
    }
    step.slices.push_back({join(ids), join(present)});
  }
}

}  // namespace millrace
