// The error for a name that no library of the program registered.
#ifndef MILLRACE_FRAMEWORK_NOT_LINKED_H_
#define MILLRACE_FRAMEWORK_NOT_LINKED_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns InvalidArgument that names the nearest of `names`, lists all of them once, and says how
// to link another. `kind` is "model" or "hook"; `names` are the registered ones.
absl::Status not_linked(absl::string_view kind, absl::string_view name,
                        const std::vector<std::string>& names);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_NOT_LINKED_H_
