// Cursors where a rank has read all that it gets.
#ifndef MILLRACE_IO_WINDOW_WINDOW_CURSOR_H_
#define MILLRACE_IO_WINDOW_WINDOW_CURSOR_H_

#include <cstdint>

#include "io/cursor.h"
#include "io/windowed_dataset.h"

namespace millrace {

// Moves a cursor of this epoch behind the window: all ranks are through with it, the next follows.
void leave_window(const Window& window, Cursor& cursor);

// Of a rank that has nothing left in the open window, or in the epoch if data does not come in
// windows (`window` is the default then), while others do. `fingerprint`: as of its last batch
// there; 0: it had none.
Cursor nothing_left(int64_t epoch, const Window& window, uint64_t fingerprint);

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOW_CURSOR_H_
