// What tests of datasets ask of batches.
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

// The bytes of everything a batch holds but its cursor.
std::string bytes_of(const Batch& batch);

std::vector<int64_t> ids_of(const Batch& batch);  // of its examples

// What is left of the epoch that is open.
absl::StatusOr<std::vector<Batch>> read_rest(Dataset& data);

// That `data`, going on at `from`, gives these batches, byte for byte and with their cursors.
void expect_rest(Dataset& data, const Cursor& from, absl::Span<const Batch> batches);

}  // namespace millrace

#endif  // MILLRACE_TESTS_IO_TESTING_BATCHES_H_
