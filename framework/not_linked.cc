#include "framework/not_linked.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"

namespace millrace {

absl::Status not_linked(absl::string_view kind, absl::string_view name,
                        const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  return absl::InvalidArgumentError(
      absl::StrCat("no ", kind, " \"", name, "\" is linked into this program",
                   near.empty() ? "." : absl::StrCat("; did you mean \"", near, "\"?"),
                   " Linked in: ", names.empty() ? "none" : absl::StrJoin(names, ", "),
                   ". To add one, put the cc_library that registers it, with alwayslink = True, "
                   "into the deps of "
                   "the program's BUILD rule"));
}

}  // namespace millrace
