// What is wrong with a command line that could not be parsed.
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
  std::string message;  // one line: the word that is wrong, the nearest, and where to look
  std::string summary;  // the file that --summary names, where the command has that flag; else ""
};

// Says in one line what the parser's `error` for these arguments (without the program's name) is:
//
//   there is no flag --epoch; did you mean "--epochs"?; see millrace train --help
UsageError explain_usage_error(const CLI::App& program, const CLI::ParseError& error,
                               const std::vector<std::string>& arguments);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_USAGE_USAGE_ERROR_H_
