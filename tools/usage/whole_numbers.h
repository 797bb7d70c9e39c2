// Whole numbers on the command line.
#ifndef MILLRACE_TOOLS_USAGE_WHOLE_NUMBERS_H_
#define MILLRACE_TOOLS_USAGE_WHOLE_NUMBERS_H_

namespace CLI {
class App;
}

namespace millrace {

// Lets every option of the program and its commands that takes a whole number read it as people
// do: "010" is ten, and a number beyond 64 bits is a CLI::ValidationError instead of the largest
// that there is. Call once, when all options are there.
void read_whole_numbers_strictly(CLI::App& program);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_USAGE_WHOLE_NUMBERS_H_
