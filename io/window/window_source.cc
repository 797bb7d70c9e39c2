#include "io/window/window_source.h"

#include <fnmatch.h>

#include "absl/strings/match.h"

namespace millrace {

bool is_data_name(const std::string& name, const std::string& pattern) {
  return !name.empty() && name[0] != '.' && name[0] != '_' && !absl::EndsWith(name, ".tmp") &&
         ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace millrace
