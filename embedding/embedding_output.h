// The output of a collection for a batch.
#ifndef MILLRACE_EMBEDDING_EMBEDDING_OUTPUT_H_
#define MILLRACE_EMBEDDING_EMBEDDING_OUTPUT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// The place of a feature in the output of its collection.
struct FeaturePlace {
  std::string name;
  int64_t dim = 0;        // number of columns: of a row; with FIRST_N times max_ids
  int64_t column = -1;    // first column in `pooled`; -1: not pooled
  int64_t unpooled = -1;  // index among the unpooled features; -1: pooled

  // Returns the number of the output tensor with the feature: 0 for `pooled`, then 1 for the first
  // unpooled feature and so on.
  int64_t output_number() const { return unpooled + 1; }
  // Returns the first column of the feature in its output tensor.
  int64_t first_column() const { return unpooled < 0 ? column : 0; }
};

// The rows of a feature without pooling. Example e has the rows from rows[offsets[e]] up to, not
// including, rows[offsets[e + 1]].
struct JaggedRows {
  at::Tensor rows;     // float32 [ids, dim]
  at::Tensor offsets;  // int64 [batch + 1]; the first is 0
};

struct PaddedRows {
  at::Tensor rows;  // float32 [batch, length, dim]
  at::Tensor mask;  // bool [batch, length]: true where a list has a row
};

// The output of one forward call. A value; copies share the tensors.
//
//   ASSIGN_OR_RETURN(EmbeddingOutput output, embeddings->forward(batch.sparse));
//   at::Tensor x = output.pooled.unflatten(1, {-1, dim});          // all features
//   ASSIGN_OR_RETURN(at::Tensor user, output.feature("user"));     // float32 [batch, dim]
class EmbeddingOutput {
 public:
  EmbeddingOutput(at::Tensor pooled, std::vector<JaggedRows> unpooled,
                  std::shared_ptr<const std::vector<FeaturePlace>> places)
      : pooled(std::move(pooled)), unpooled_(std::move(unpooled)), places_(std::move(places)) {}

  // float32 [batch, sum of FeaturePlace::dim]: the pooled features, concatenated in their order.
  at::Tensor pooled;

  // Returns the columns of a pooled feature: a view of float32 [batch, dim]. Errors: NotFound,
  // suggesting the most similar name; FailedPrecondition if the feature is not pooled.
  absl::StatusOr<at::Tensor> feature(absl::string_view name) const;

  // Returns the rows of a feature with pooling NONE. Errors: NotFound, suggesting the most similar
  // name; FailedPrecondition if the feature is pooled.
  absl::StatusOr<JaggedRows> jagged(absl::string_view name) const;

  // Returns the rows of a feature with pooling NONE as one tensor: the first `length` rows of each
  // list, followed by zeros if the list is shorter. Gradients reach only the rows in the result.
  // Errors: as jagged(); InvalidArgument for length < 1.
  absl::StatusOr<PaddedRows> padded(absl::string_view name, int64_t length) const;

  // Returns the places of all features, in their order.
  const std::vector<FeaturePlace>& places() const { return *places_; }

 private:
  absl::StatusOr<const FeaturePlace*> find(absl::string_view name) const;

  std::vector<JaggedRows> unpooled_;
  std::shared_ptr<const std::vector<FeaturePlace>> places_;  // shared with the collection
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_EMBEDDING_OUTPUT_H_
