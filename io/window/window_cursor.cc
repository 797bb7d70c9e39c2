#include "io/window/window_cursor.h"

#include <variant>
#include <vector>

namespace millrace {

void leave_window(const Window& window, Cursor& cursor) {
  if (auto* rows = std::get_if<std::vector<RowInterval>>(&cursor.left)) rows->clear();
  cursor.stream = {.window = window.index, .finished = true, .bytes = window.stream};
}

Cursor nothing_left(int64_t epoch, const Window* window, uint64_t fingerprint) {
  Cursor cursor{.epoch = epoch, .fingerprint = fingerprint};
  if (window != nullptr) cursor.stream = {.window = window->index, .bytes = window->stream};
  return cursor;
}

bool is_in_window(const Cursor& cursor, const Window* window) {
  if (window == nullptr || !cursor.stream.has_value()) {
    return window == nullptr && !cursor.stream.has_value();
  }
  return cursor.stream->window == window->index;
}

}  // namespace millrace
