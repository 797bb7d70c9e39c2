// One hostile run of the program: what a user has, what is called, and what must come of it.
#ifndef MILLRACE_TESTS_HOSTILE_HOSTILE_CASE_H_
#define MILLRACE_TESTS_HOSTILE_HOSTILE_CASE_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millrace {

struct HostileCase {
  const char* name;   // in CamelCase
  const char* shows;  // the promise that the run is about
  // Shell script that adds to the folder what a user has there. All files of the folder are a
  // user's once it has run.
  const char* before;
  // Shell command in which `millrace` is the program.
  const char* command;
  int exit_code;  // 128 and the number of a signal that ended the command
  // The last line of stderr with the indented ones behind it; `*` stands for any text.
  const char* last_line;
  // Patterns, such as "out/*", of paths that the run makes or changes. Each must match a change,
  // and every change must match one.
  std::vector<const char*> after = {};
};

// For messages of tests.
inline void PrintTo(const HostileCase& hostile, std::ostream* out) { *out << hostile.command; }

// Where cases run.
struct HostileSetting {
  std::string program_folder;  // has `millrace`
  // What lies in the folder of each case before its script runs, and, in `run`, an output directory
  // that `trained NAME` copies into the case's folder.
  std::string template_folder;
  std::string folder;  // of this case; does not exist
};

// Runs a case. The program may not pass over permissions of files, even if the user is root.
// Returns: what does not hold, in sentences; nothing if all holds.
std::vector<std::string> run_hostile_case(const HostileCase& hostile,
                                          const HostileSetting& setting);

// True if `text` is `pattern` with some text in the place of each `*`.
bool matches_pattern(absl::string_view text, absl::string_view pattern);

}  // namespace millrace

#endif  // MILLRACE_TESTS_HOSTILE_HOSTILE_CASE_H_
