#include "embedding/embedding_output.h"

#include <ATen/ops/index_copy.h>
#include <ATen/ops/index_fill.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace millrace {

absl::StatusOr<const FeaturePlace*> EmbeddingOutput::find(absl::string_view name) const {
  std::vector<std::string> known;
  for (const FeaturePlace& place : *places_) {
    if (place.name == name) return &place;
    known.push_back(place.name);
  }
  return absl::NotFoundError(
      absl::StrCat("no sparse feature \"", name, "\"", did_you_mean(name, known)));
}

absl::StatusOr<at::Tensor> EmbeddingOutput::feature(absl::string_view name) const {
  ASSIGN_OR_RETURN(const FeaturePlace* place, find(name));
  if (place->column < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("feature ", name, " is not pooled; its rows are in jagged()"));
  }
  return pooled.narrow(1, place->column, place->dim);
}

absl::StatusOr<JaggedRows> EmbeddingOutput::jagged(absl::string_view name) const {
  ASSIGN_OR_RETURN(const FeaturePlace* place, find(name));
  if (place->unpooled < 0) {
    return absl::FailedPreconditionError(absl::StrCat("feature ", name, " is pooled"));
  }
  return unpooled_[place->unpooled];
}

absl::StatusOr<PaddedRows> EmbeddingOutput::padded(absl::string_view name, int64_t length) const {
  ASSIGN_OR_RETURN(const JaggedRows jagged, this->jagged(name));
  if (length < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("feature ", name, ": lists padded to a length of ", length));
  }
  const int64_t batch = jagged.offsets.numel() - 1, dim = jagged.rows.size(1);
  const int64_t* offsets = jagged.offsets.const_data_ptr<int64_t>();
  // Where each row that is shown comes from and goes to.
  std::vector<int64_t> from, to;
  for (int64_t list = 0; list < batch; ++list) {
    const int64_t count = std::min(offsets[list + 1] - offsets[list], length);
    for (int64_t i = 0; i < count; ++i) {
      from.push_back(offsets[list] + i);
      to.push_back(list * length + i);
    }
  }
  const at::Tensor places = at::tensor(to, at::kLong);
  PaddedRows result;
  result.rows = at::zeros({batch * length, dim}, at::kFloat)
                    .index_copy(0, places, jagged.rows.index_select(0, at::tensor(from, at::kLong)))
                    .view({batch, length, dim});
  result.mask = at::zeros({batch * length}, at::kBool).index_fill_(0, places, true);
  result.mask = result.mask.view({batch, length});
  return result;
}

}  // namespace millrace
