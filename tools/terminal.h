// Properties of a terminal.
#ifndef MILLRACE_TOOLS_TERMINAL_H_
#define MILLRACE_TOOLS_TERMINAL_H_

#include <cstdint>

namespace millrace {

// Returns the current width of the terminal of the file descriptor; 80 if the descriptor is not a
// terminal or the width is unknown. Any thread may call the function.
int64_t terminal_columns(int descriptor);

// Returns true if text written to the file descriptor may have colors: the descriptor is a terminal
// with colors (TERM is set and not "dumb"), and NO_COLOR is not set (https://no-color.org).
bool has_colors(int descriptor);

// Returns the maximum number of columns of a line on the file descriptor: the columns of its
// terminal, or without a terminal unlimited.
int64_t line_columns(int descriptor);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_TERMINAL_H_
