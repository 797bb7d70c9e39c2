// Cursors where a rank has read all that it gets.
#ifndef MILLRACE_IO_WINDOW_WINDOW_CURSOR_H_
#define MILLRACE_IO_WINDOW_WINDOW_CURSOR_H_

#include <cstdint>

#include "io/cursor.h"
#include "io/windowed_dataset.h"

namespace millrace {

// Moves a cursor of this epoch behind the window: all ranks have completed it, the next follows.
void leave_window(const Window& window, Cursor& cursor);

// Returns the cursor of a rank that has nothing left in the open window, while others have. With
// `window` null the data has no windows, and nothing is left of the epoch. `fingerprint`: that of
// the rank's last batch there; 0 if it had none.
Cursor nothing_left(int64_t epoch, const Window* window, uint64_t fingerprint);

// Returns true if the cursor is in `window`; with `window` null, if its data has no windows.
bool is_in_window(const Cursor& cursor, const Window* window);

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOW_CURSOR_H_
