// Arrow's own reading of files, for comparisons.
#ifndef MILLRACE_BENCH_ARROW_READ_H_
#define MILLRACE_BENCH_ARROW_READ_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace {

// Returns true if the extension is of Parquet or ORC, which Arrow reads too.
bool arrow_reads(const std::string& path);

// Reads columns of a Parquet or ORC file to Arrow's arrays, row group after row group, on one
// thread, and discards the arrays. Returns the number of rows. Errors: InvalidArgument with the
// message of Arrow.
absl::StatusOr<int64_t> read_with_arrow(const std::string& path,
                                        const std::vector<std::string>& columns);

}  // namespace millrace

#endif  // MILLRACE_BENCH_ARROW_READ_H_
