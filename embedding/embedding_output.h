// What a collection gives for a batch.
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

// Where a feature stands in the output of its collection.
struct FeaturePlace {
  std::string name;
  int64_t dim = 0;        // its columns there: those of a row, with FIRST_N times max_ids
  int64_t column = -1;    // its first column in `pooled`; -1: not pooled
  int64_t unpooled = -1;  // its place among the unpooled features; -1: pooled

  // The number of the tensor that it is in: 0 for `pooled`, then each unpooled feature.
  int64_t output_number() const { return unpooled + 1; }
  // Its first column there.
  int64_t first_column() const { return unpooled < 0 ? column : 0; }
};

// The rows of a feature that is not pooled: those of example e are rows[offsets[e]] up to, not
// including, rows[offsets[e + 1]].
struct JaggedRows {
  at::Tensor rows;     // float32 [ids, dim]
  at::Tensor offsets;  // int64 [batch + 1], from 0
};

struct PaddedRows {
  at::Tensor rows;  // float32 [batch, length, dim]
  at::Tensor mask;  // bool [batch, length]: whether there is a row
};

// A value; copies share the tensors.
//
//   ASSIGN_OR_RETURN(EmbeddingOutput output, embeddings->forward(batch.sparse));
//   at::Tensor x = output.pooled.unflatten(1, {-1, dim});          // all features
//   ASSIGN_OR_RETURN(at::Tensor user, output.feature("user"));     // float32 [batch, dim]
class EmbeddingOutput {
 public:
  EmbeddingOutput(at::Tensor pooled, std::vector<JaggedRows> unpooled,
                  std::shared_ptr<const std::vector<FeaturePlace>> places)
      : pooled(std::move(pooled)), unpooled_(std::move(unpooled)), places_(std::move(places)) {}

  // float32 [batch, sum of FeaturePlace::dim]: the pooled features side by side, in their order.
  at::Tensor pooled;

  // float32 [batch, dim]: a view of the columns of a pooled feature.
  // Errors: NotFound naming the nearest; FailedPrecondition if the feature is not pooled.
  absl::StatusOr<at::Tensor> feature(absl::string_view name) const;

  // The rows of a feature with pooling NONE. Errors: NotFound, FailedPrecondition.
  absl::StatusOr<JaggedRows> jagged(absl::string_view name) const;

  // The same as one tensor: the first `length` rows of each list, zeros behind the end of a shorter
  // one. Gradients reach the rows that are shown.
  // Errors: those of jagged; InvalidArgument for length < 1.
  absl::StatusOr<PaddedRows> padded(absl::string_view name, int64_t length) const;

  // All features, in order.
  const std::vector<FeaturePlace>& places() const { return *places_; }

 private:
  absl::StatusOr<const FeaturePlace*> find(absl::string_view name) const;

  std::vector<JaggedRows> unpooled_;
  std::shared_ptr<const std::vector<FeaturePlace>> places_;  // shared with the collection
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_EMBEDDING_OUTPUT_H_
