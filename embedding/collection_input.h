// What a collection is asked to look up.
#ifndef MILLRACE_EMBEDDING_COLLECTION_INPUT_H_
#define MILLRACE_EMBEDDING_COLLECTION_INPUT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "embedding/collection_options.h"
#include "io/batch.h"

namespace millrace {

struct CheckedInput {
  // In the order of the options, contiguous, without the ids that come after the first max_ids of a
  // list.
  KeyedJagged features;
  int64_t batch = 0;              // examples
  std::vector<char> one_id_each;  // of each feature: whether all its lists have one id
};

// Calls body(i) for all i below count, in any order and from any threads; the second: in order, by
// the caller alone.
using InputLoop = absl::FunctionRef<void(int64_t count, const std::function<void(int64_t)>& body)>;
void one_after_another(int64_t count, const std::function<void(int64_t)>& body);

// Errors: InvalidArgument for tensors of another type or size than KeyedJagged says, and offsets
// that decrease or go beyond the ids, naming the feature, its table and the example.
absl::StatusOr<CheckedInput> checked_input(const KeyedJagged& features,
                                           const EmbeddingCollectionOptions& options,
                                           InputLoop loop = one_after_another);

// For messages: "features a, b of table t", each table once, of many the first few; "table t"
// without features, "features a, b" without tables, "" without both.
std::string features_of_tables(const std::vector<absl::string_view>& features,
                               const std::vector<absl::string_view>& tables);
// For messages: such as "Double [3, 2]".
std::string type_and_shape(const at::Tensor& tensor);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_COLLECTION_INPUT_H_
