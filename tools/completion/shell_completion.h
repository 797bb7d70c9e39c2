// Completion of command lines in shells.
#ifndef MILLRACE_TOOLS_COMPLETION_SHELL_COMPLETION_H_
#define MILLRACE_TOOLS_COMPLETION_SHELL_COMPLETION_H_

#include <string>

namespace CLI {
class App;
}

namespace millrace {

// Returns a script for bash that completes commands, flags and otherwise paths. zsh runs the same
// script after bashcompinit.
std::string bash_completion(const CLI::App& program);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_COMPLETION_SHELL_COMPLETION_H_
