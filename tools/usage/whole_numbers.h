// Whole numbers on the command line.
#ifndef MILLRACE_TOOLS_USAGE_WHOLE_NUMBERS_H_
#define MILLRACE_TOOLS_USAGE_WHOLE_NUMBERS_H_

namespace CLI {
class App;
}

namespace millrace {

// Makes every option of the program and its commands with a whole number use decimal numbers: "010"
// is ten, and a number beyond 64 bits is a CLI::ValidationError instead of the maximum. Call once,
// after all options are added.
void read_whole_numbers_strictly(CLI::App& program);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_USAGE_WHOLE_NUMBERS_H_
