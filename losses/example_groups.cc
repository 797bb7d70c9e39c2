#include "losses/example_groups.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

namespace millrace {

ExampleGroups::ExampleGroups(const at::Tensor& group_ids) {
  const at::Tensor contiguous = group_ids.to(at::kCPU).contiguous();
  const int64_t* const ids = contiguous.const_data_ptr<int64_t>();
  places_.resize(static_cast<size_t>(contiguous.numel()));
  std::iota(places_.begin(), places_.end(), 0);
  std::stable_sort(places_.begin(), places_.end(),
                   [ids](int64_t a, int64_t b) { return ids[a] < ids[b]; });
  for (size_t i = 0; i < places_.size(); ++i) {
    if (i == 0 || ids[places_[i]] != ids[places_[i - 1]]) begins_.push_back(i);
  }
  begins_.push_back(places_.size());
}

}  // namespace millrace
