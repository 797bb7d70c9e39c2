// Cursors as messages, to send and to save them.
#ifndef MILLRACE_IO_CURSOR_STATE_H_
#define MILLRACE_IO_CURSOR_STATE_H_

#include "absl/status/statusor.h"
#include "io/cursor.h"
#include "proto/cursor.pb.h"

namespace millrace {

CursorState to_state(const Cursor& cursor);

// Errors: DataLoss if intervals are not whole, ascending and apart, counts are negative, a mix has
// own rows, or parts of parts have parts.
absl::StatusOr<Cursor> from_state(const CursorState& state);

}  // namespace millrace

#endif  // MILLRACE_IO_CURSOR_STATE_H_
