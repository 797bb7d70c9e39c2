// One hostile run of the program: the files of a user, the command, and the expected outcome.
#ifndef MILLRACE_TESTS_HOSTILE_HOSTILE_CASE_H_
#define MILLRACE_TESTS_HOSTILE_HOSTILE_CASE_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millrace {

struct HostileCase {
  const char* name;   // in CamelCase
  const char* shows;  // the promise that the run tests
  // Shell script that adds the files of a user to the folder. After the script, all files of the
  // folder belong to the user.
  const char* before;
  // Shell command; `millrace` is the program.
  const char* command;
  int exit_code;  // 128 plus the number of a signal that ended the command
  // The last line of stderr and the indented lines behind it; `*` matches any text.
  const char* last_line;
  // Patterns, such as "out/*", of paths that the run creates or changes. Each pattern must match a
  // change, and each change must match a pattern.
  std::vector<const char*> after = {};
};

// For messages of tests.
inline void PrintTo(const HostileCase& hostile, std::ostream* out) { *out << hostile.command; }

// The folders in which cases run.
struct HostileSetting {
  std::string program_folder;  // contains `millrace`
  // The initial files of each case's folder, and, in `run`, an output directory that `trained NAME`
  // copies into the case's folder.
  std::string template_folder;
  std::string folder;  // of this case; does not exist
};

// Runs a case. The program cannot ignore permissions of files, even if the user is root. Returns
// the violations, in sentences; empty if all holds.
std::vector<std::string> run_hostile_case(const HostileCase& hostile,
                                          const HostileSetting& setting);

// Returns true if `text` is `pattern` with any text in place of each `*`.
bool matches_pattern(absl::string_view text, absl::string_view pattern);

}  // namespace millrace

#endif  // MILLRACE_TESTS_HOSTILE_HOSTILE_CASE_H_
