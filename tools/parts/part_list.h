// The parts of a program, for people.
#ifndef MILLRACE_TOOLS_PARTS_PART_LIST_H_
#define MILLRACE_TOOLS_PARTS_PART_LIST_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns one paragraph for each family of parts, or for the one whose name is `family`, with
// spaces or underscores. The first line of a paragraph says how a configuration names a registered
// part. Each further line is a part with its description, and the place where it is registered or
// "built in". A name that several parts have is ambiguous: the line has all their places. Errors:
// InvalidArgument for an unknown family, with the nearest and all.
absl::StatusOr<std::string> list_parts(absl::string_view family);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_PARTS_PART_LIST_H_
