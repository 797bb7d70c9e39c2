// The number of examples of each source in a batch.
#ifndef MILLRACE_IO_MIX_MIX_SHARES_H_
#define MILLRACE_IO_MIX_MIX_SHARES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace millrace {

// `size` examples, shared out by `proportions`: source i gets size * proportions[i] / (their sum),
// or, if not a whole number, a neighboring whole number. The choice is a function of the arguments
// alone: of the sources laid end to end on a line of length `size`, each gets the points u, u + 1,
// u + 2, ... on its piece, where u = frac(index * (sqrt(5) - 1) / 2). That sequence is of low
// discrepancy (H. Weyl, "Ueber die Gleichverteilung von Zahlen mod. Eins", 1916), so over indices 0
// to n - 1 each source has what it should have up to O(log n) examples.
//
//   mix_shares({3, 1}, 512, 0)  →  {384, 128}
//
// REQUIRES: proportions are finite and not negative, and their sum is above 0; size >= 0.
std::vector<int64_t> mix_shares(absl::Span<const double> proportions, int64_t size, uint64_t index);

}  // namespace millrace

#endif  // MILLRACE_IO_MIX_MIX_SHARES_H_
