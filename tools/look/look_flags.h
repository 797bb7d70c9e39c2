// Flags of the commands that inspect data.
#ifndef MILLRACE_TOOLS_LOOK_LOOK_FLAGS_H_
#define MILLRACE_TOOLS_LOOK_LOOK_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/look/data_look.h"

namespace CLI {
class App;
}

namespace millrace {

struct LookFlags {
  std::vector<std::string> paths;
  std::vector<std::string> eval;
  std::string label;  // "": a column with a usual name
};

// Adds the flags to a command. `flags` must live until the command line is parsed.
void add_look_flags(CLI::App& command, LookFlags& flags);

// Returns the options of the flags. Errors: InvalidArgument with the flag.
absl::StatusOr<LookOptions> look_options(const LookFlags& flags);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LOOK_LOOK_FLAGS_H_
