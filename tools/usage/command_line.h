// The command line: whole numbers, and explanations of lines that could not be parsed.
#ifndef MILLRACE_TOOLS_USAGE_COMMAND_LINE_H_
#define MILLRACE_TOOLS_USAGE_COMMAND_LINE_H_

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace millrace {

// The explanation of a command line that could not be parsed.
struct UsageError {
  std::string message;  // one line: the wrong word, the nearest word, and where to find help
  std::string summary;  // the file of --summary if the command has this flag; else ""
};

// Explains the parser's `error` for these arguments (without the program's name) in one line:
//
//   there is no flag --epoch; did you mean "--epochs"?; see millrace train --help
UsageError explain_usage_error(const CLI::App& program, const CLI::ParseError& error,
                               const std::vector<std::string>& arguments);

// Makes every option of the program and its commands with a whole number use decimal numbers: "010"
// is ten, and a number beyond 64 bits is a CLI::ValidationError instead of the maximum. Call once,
// after all options are added.
void read_whole_numbers_strictly(CLI::App& program);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_USAGE_COMMAND_LINE_H_
