#include "embedding/embedding_output.h"

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

}  // namespace millrace
