// The lookups of the benchmark of the id map.
#ifndef MILLRACE_BENCH_ID_WORKLOAD_H_
#define MILLRACE_BENCH_ID_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace {

// Kinds of distinct ids:
//   random           64 bits
//   strided          multiples of 4096
//   low_bits_equal   multiples of 2^32
//   high_bits_equal  consecutive, from the smallest int64
//   adversarial      such that all have the same low bits of the map's hash, had it one known seed
// Returns ids number `begin` to begin + count of a kind. Errors: InvalidArgument naming an unknown
// kind, and for more than 2^31 ids.
absl::StatusOr<std::vector<int64_t>> benchmark_ids(const std::string& kind, int64_t begin,
                                                   int64_t count);

// Returns `count` of these ids, drawn at random. `zipf`: the k-th most frequent id has weight
// k^-zipf; 0: equal weights. The result depends only on the arguments. REQUIRES: `ids` is not
// empty.
std::vector<int64_t> draw_ids(const std::vector<int64_t>& ids, double zipf, int64_t count);

}  // namespace millrace

#endif  // MILLRACE_BENCH_ID_WORKLOAD_H_
