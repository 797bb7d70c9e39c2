// Libraries and symbols that this process has loaded.
#ifndef MILLRACE_PLUGIN_PROCESS_LIBRARIES_H_
#define MILLRACE_PLUGIN_PROCESS_LIBRARIES_H_

#include <set>
#include <string>

namespace millrace {

// Returns the names (DT_SONAME) of the shared libraries of this process. The dynamic loader takes a
// library that is there for one of the same name that another needs, and reads no file then.
std::set<std::string> loaded_libraries();

// Returns true if the program, or a library that it was started with, has a symbol of this name.
bool process_has_symbol(const std::string& name);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PROCESS_LIBRARIES_H_
