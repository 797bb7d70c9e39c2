// The parts of a program, for people.
#ifndef MILLRACE_TOOLS_PARTS_PART_LIST_H_
#define MILLRACE_TOOLS_PARTS_PART_LIST_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns a paragraph per family of parts, or only for the family named `family`, with spaces or
// underscores. The first line of a paragraph shows how a configuration names a registered part.
// Each further line has a part with its description, and the place of its registration or "built
// in". A name of several parts is ambiguous: the line has all their places.
// Errors: InvalidArgument for an unknown family, with the nearest and all names.
absl::StatusOr<std::string> list_parts(absl::string_view family);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_PARTS_PART_LIST_H_
