#include "tools/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <limits>

namespace millrace {

int64_t terminal_columns(int descriptor) {
  winsize size = {};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

int64_t line_columns(int descriptor) {
  const bool is_terminal = ::isatty(descriptor) == 1;
  return is_terminal ? terminal_columns(descriptor) : std::numeric_limits<int64_t>::max();
}

}  // namespace millrace
