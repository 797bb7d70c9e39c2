// The cursors of all ranks.
#ifndef MILLRACE_FRAMEWORK_RANKS_GATHER_CURSORS_H_
#define MILLRACE_FRAMEWORK_RANKS_GATHER_CURSORS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "distributed/collectives.h"
#include "io/cursor.h"

namespace millrace {

// Returns the cursors of all ranks, by rank. Collective. Errors: as Collectives; Internal for a
// message that is not a cursor.
absl::StatusOr<std::vector<Cursor>> gather_cursors(const Cursor& own, Collectives& ranks);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_GATHER_CURSORS_H_
