#include "io/window/window_cursor.h"

namespace millrace {

void leave_window(const Window& window, Cursor& cursor) {
  cursor.rows_left.clear();
  cursor.window = window.index;
  cursor.window_finished = true;
  cursor.stream = window.stream;
}

Cursor nothing_left(int64_t epoch, const Window& window, uint64_t fingerprint) {
  Cursor cursor;
  cursor.epoch = epoch;
  cursor.fingerprint = fingerprint;
  cursor.window = window.index;
  cursor.stream = window.stream;
  return cursor;
}

}  // namespace millrace
