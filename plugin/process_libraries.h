// Libraries and symbols loaded by the process.
#ifndef MILLRACE_PLUGIN_PROCESS_LIBRARIES_H_
#define MILLRACE_PLUGIN_PROCESS_LIBRARIES_H_

#include <set>
#include <string>

namespace millrace {

// Returns the names (DT_SONAME) of the shared libraries of the process. The dynamic loader uses a
// loaded library for every dependency of the same name, without reading a file.
std::set<std::string> loaded_libraries();

// Returns true if the program, or a library loaded at its start, has a symbol of this name.
bool process_has_symbol(const std::string& name);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PROCESS_LIBRARIES_H_
