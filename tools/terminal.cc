#include "tools/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "absl/strings/string_view.h"

namespace millrace {

int64_t terminal_columns(int descriptor) {
  winsize size = {};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

bool has_colors(int descriptor) {
  const char* const refused = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (refused == nullptr || *refused == '\0') &&
         terminal != nullptr && absl::string_view(terminal) != "dumb";
}

int64_t line_columns(int descriptor) {
  const bool is_terminal = ::isatty(descriptor) == 1;
  return is_terminal ? terminal_columns(descriptor) : std::numeric_limits<int64_t>::max();
}

}  // namespace millrace
