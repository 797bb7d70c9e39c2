// Patterns over names.
#ifndef MILLRACE_OPTIM_NAME_PATTERN_H_
#define MILLRACE_OPTIM_NAME_PATTERN_H_

#include "absl/strings/string_view.h"

namespace millrace {

// Whether the whole `name` fits `pattern`, in which * stands for any text, also none. The empty
// pattern fits every name.
bool matches_pattern(absl::string_view name, absl::string_view pattern);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_NAME_PATTERN_H_
