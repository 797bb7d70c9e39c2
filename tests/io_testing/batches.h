// Helpers for tests of datasets.
#ifndef MILLRACE_TESTS_IO_TESTING_BATCHES_H_
#define MILLRACE_TESTS_IO_TESTING_BATCHES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "io/batch.h"
#include "io/dataset.h"

namespace millrace {

// Returns the bytes of the whole batch except its cursor.
std::string bytes_of(const Batch& batch);

std::vector<int64_t> ids_of(const Batch& batch);  // of its examples

// Returns the remaining batches of the open epoch.
absl::StatusOr<std::vector<Batch>> read_rest(Dataset& data);

// Expects `data`, continued at `from`, to return `batches`, byte for byte and with their cursors.
void expect_rest(Dataset& data, const Cursor& from, absl::Span<const Batch> batches);

}  // namespace millrace

#endif  // MILLRACE_TESTS_IO_TESTING_BATCHES_H_
