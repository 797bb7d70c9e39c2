#include "framework/ranks/gather_cursors.h"

#include <string>

#include "base/status_macros.h"
#include "io/cursor_state.h"

namespace millrace {

absl::StatusOr<std::vector<Cursor>> gather_cursors(const Cursor& own, Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all,
                   ranks.all_gather(to_state(own).SerializeAsString()));
  std::vector<Cursor> cursors;
  for (const std::string& bytes : all) {
    CursorState state;
    if (!state.ParseFromString(bytes)) return absl::InternalError("a rank's cursor cannot be read");
    ASSIGN_OR_RETURN(cursors.emplace_back(), from_state(state));
  }
  return cursors;
}

}  // namespace millrace
