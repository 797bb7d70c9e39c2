// Examples sorted by group.
#ifndef MILLRACE_LOSSES_EXAMPLE_GROUPS_H_
#define MILLRACE_LOSSES_EXAMPLE_GROUPS_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace millrace {

// The examples of a batch, sorted by group. The places of one group are adjacent and ascending.
// Groups are sorted by id.
class ExampleGroups {
 public:
  // `group_ids`: int64 [examples].
  explicit ExampleGroups(const at::Tensor& group_ids);

  size_t size() const { return begins_.size() - 1; }
  // Returns places in the batch of the examples of one group. REQUIRES: group < size().
  absl::Span<const int64_t> examples(size_t group) const {
    return absl::MakeConstSpan(places_).subspan(begins_[group],
                                                begins_[group + 1] - begins_[group]);
  }

 private:
  std::vector<int64_t> places_;
  std::vector<size_t> begins_;  // in places_, of each group, and the end of the last
};

}  // namespace millrace

#endif  // MILLRACE_LOSSES_EXAMPLE_GROUPS_H_
