// The input of a collection and its checks.
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
  // The features in the order of the options, contiguous, without the ids after the first max_ids
  // of a list.
  KeyedJagged features;
  int64_t batch = 0;              // number of examples
  std::vector<char> one_id_each;  // of each feature: 1 if every list has one id
};

// Runs body(i) for each i below `count`, in any order and on any threads. one_after_another() runs
// the calls in ascending order on the calling thread.
using InputLoop = absl::FunctionRef<void(int64_t count, const std::function<void(int64_t)>& body)>;
void one_after_another(int64_t count, const std::function<void(int64_t)>& body);

// Checks the input of a lookup. Errors: InvalidArgument for tensors with another type or size than
// KeyedJagged states, and for offsets that decrease or exceed the number of ids, naming the
// feature, its table and the example.
absl::StatusOr<CheckedInput> checked_input(const KeyedJagged& features,
                                           const EmbeddingCollectionOptions& options,
                                           InputLoop loop = one_after_another);

// Returns a text for messages: "features a, b of table t". Names each table once and at most 8
// features and tables. Returns "table t" without features, "features a, b" without tables, ""
// without both.
std::string features_of_tables(const std::vector<absl::string_view>& features,
                               const std::vector<absl::string_view>& tables);
// Returns a text for messages, such as "Double [3, 2]".
std::string type_and_shape(const at::Tensor& tensor);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_COLLECTION_INPUT_H_
