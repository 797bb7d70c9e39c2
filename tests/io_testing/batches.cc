#include "tests/io_testing/batches.h"

#include <ATen/ATen.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {

std::string bytes_of(const Batch& batch) {
  std::string bytes = absl::StrCat(batch.size, ";", batch.bad_examples);
  for (const at::Tensor* tensor :
       {&batch.sparse.values, &batch.sparse.offsets, &batch.sparse.weights, &batch.dense,
        &batch.labels, &batch.weights, &batch.example_ids, &batch.group_ids}) {
    bytes += "|";
    if (!tensor->defined()) {
      bytes += "undefined";
      continue;
    }
    const at::Tensor whole = tensor->contiguous();
    bytes.append(static_cast<const char*>(whole.const_data_ptr()), whole.nbytes());
  }
  return bytes;
}

std::vector<int64_t> ids_of(const Batch& batch) {
  const int64_t* ids = batch.example_ids.const_data_ptr<int64_t>();
  return {ids, ids + batch.size};
}

absl::StatusOr<std::vector<Batch>> read_rest(Dataset& data) {
  std::vector<Batch> batches;
  while (true) {
    ASSIGN_OR_RETURN(std::optional<Batch> batch, data.next());
    if (!batch.has_value()) return batches;
    batches.push_back(*std::move(batch));
  }
}

void expect_rest(Dataset& data, const Cursor& from, absl::Span<const Batch> batches) {
  ASSERT_OK(data.seek({&from, 1}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> rest, read_rest(data));
  ASSERT_EQ(rest.size(), batches.size());
  for (size_t k = 0; k < rest.size(); ++k) {
    ASSERT_TRUE(bytes_of(rest[k]) == bytes_of(batches[k])) << "batch " << k << " of the rest";
    ASSERT_EQ(rest[k].cursor, batches[k].cursor) << "batch " << k << " of the rest";
  }
}

}  // namespace millrace
