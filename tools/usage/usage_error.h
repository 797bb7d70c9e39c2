// Explanations of command lines that could not be parsed.
#ifndef MILLRACE_TOOLS_USAGE_USAGE_ERROR_H_
#define MILLRACE_TOOLS_USAGE_USAGE_ERROR_H_

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace millrace {

struct UsageError {
  std::string message;  // one line: the wrong word, the nearest word, and where to find help
  std::string summary;  // the file of --summary if the command has this flag; else ""
};

// Explains the parser's `error` for these arguments (without the program's name) in one line:
//
//   there is no flag --epoch; did you mean "--epochs"?; see millrace train --help
UsageError explain_usage_error(const CLI::App& program, const CLI::ParseError& error,
                               const std::vector<std::string>& arguments);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_USAGE_USAGE_ERROR_H_
