#include "tools/terminal.h"

#include <sys/ioctl.h>

namespace millrace {

int64_t terminal_columns(int descriptor) {
  winsize size = {};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace millrace
