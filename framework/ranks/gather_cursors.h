// The cursors of all ranks.
#ifndef MILLRACE_FRAMEWORK_RANKS_GATHER_CURSORS_H_
#define MILLRACE_FRAMEWORK_RANKS_GATHER_CURSORS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "distributed/collectives.h"
#include "io/cursor.h"

namespace millrace {

// Returns what every rank gave, by rank. Collective. Errors: those of Collectives; Internal for a
// message that is no cursor.
absl::StatusOr<std::vector<Cursor>> gather_cursors(const Cursor& own, Collectives& ranks);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_GATHER_CURSORS_H_
