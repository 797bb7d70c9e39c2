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
  FirstIds first{at::zeros({batch.size}, at::kLong), at::zeros({batch.size}, at::kBool)};
  const at::Tensor values = batch.sparse.values.to(at::kCPU).contiguous();
  const at::Tensor offsets = batch.sparse.offsets.to(at::kCPU).contiguous();
  const int64_t* const id = values.const_data_ptr<int64_t>();
  const int64_t* const offset = offsets.const_data_ptr<int64_t>() + feature * batch.size;
  int64_t* const ids = first.ids.mutable_data_ptr<int64_t>();
  bool* const present = first.present.mutable_data_ptr<bool>();
  for (int64_t i = 0; i < batch.size; ++i) {
    present[i] = offset[i] < offset[i + 1];
    if (present[i]) ids[i] = id[offset[i]];
  }
  return first;
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
