// Reading files as Arrow does, to compare with.
#ifndef MILLRACE_BENCH_ARROW_READ_H_
#define MILLRACE_BENCH_ARROW_READ_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace {

// Whether the extension is that of Parquet or ORC, which Arrow reads too.
bool arrow_reads(const std::string& path);

// Reads those columns of a Parquet or ORC file to Arrow's arrays, row group after row group, on one
// thread, and throws them away. Returns: the rows. Errors: InvalidArgument with what Arrow said.
absl::StatusOr<int64_t> read_with_arrow(const std::string& path,
                                        const std::vector<std::string>& columns);

}  // namespace millrace

#endif  // MILLRACE_BENCH_ARROW_READ_H_
