// What a terminal shows.
#ifndef MILLRACE_TOOLS_TERMINAL_H_
#define MILLRACE_TOOLS_TERMINAL_H_

#include <cstdint>

namespace millrace {

// Returns the width of the terminal behind the file descriptor, as it is now; 80 if it is no
// terminal or does not say. Any thread may call it.
int64_t terminal_columns(int descriptor);

// Returns whether text written to the file descriptor may have colors: it is a terminal that knows
// them (TERM is set and not "dumb"), and NO_COLOR is not set (https://no-color.org).
bool has_colors(int descriptor);

// Returns how many columns a line written to the file descriptor may have: those of its terminal,
// and without a terminal as many as there are.
int64_t line_columns(int descriptor);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_TERMINAL_H_
