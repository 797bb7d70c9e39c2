#include "embedding/embedding_output.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>

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
  // Uses tensor operations only, so that a model with this call can be traced. Places after the end
  // of a list read the last row, which is a row of zeros.
  const at::Tensor begins = jagged.offsets.slice(0, 0, -1).unsqueeze(1);
  const at::Tensor ends = jagged.offsets.slice(0, 1).unsqueeze(1);
  const at::Tensor places = begins + at::arange(length, begins.options());
  const at::Tensor rows = at::constant_pad_nd(jagged.rows, {0, 0, 0, 1});
  PaddedRows result;
  result.mask = places < ends;
  const at::Tensor from = places.where(result.mask, jagged.offsets.slice(0, -1));
  result.rows = rows.index_select(0, from.flatten()).unflatten(0, {-1, length});
  return result;
}

}  // namespace millrace
