#ifndef MILLRACE_PLUGIN_BAD_PLUGIN_H_
#define MILLRACE_PLUGIN_BAD_PLUGIN_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace millrace {

// Returns the error InvalidArgument with the text of `parts`, which says what is wrong with the
// file.
template <typename... Parts>
absl::Status bad_plugin(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_BAD_PLUGIN_H_
