// Messages of registered parts.
#ifndef MILLRACE_CONFIG_CUSTOM_CHECK_H_
#define MILLRACE_CONFIG_CUSTOM_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace millrace {

// Returns the extensions in `message`, the configuration of a part, that do not have the name of
// the part.
std::vector<const google::protobuf::FieldDescriptor*> extensions_of_others(
    const google::protobuf::Message& message, absl::string_view name);

// Checks every CustomConfig within `message`, whose place in the configuration is `where`: an
// extension must have the name of the part, so no part gets the message of another part. Includes
// check_extension_ranges() of proto/range_check.h.
// Errors: InvalidArgument with all places, one per line.
absl::Status check_custom_messages(const std::string& where,
                                   const google::protobuf::Message& message);

}  // namespace millrace

#endif  // MILLRACE_CONFIG_CUSTOM_CHECK_H_
