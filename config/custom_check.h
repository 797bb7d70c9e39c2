// Messages of registered parts.
#ifndef MILLRACE_CONFIG_CUSTOM_CHECK_H_
#define MILLRACE_CONFIG_CUSTOM_CHECK_H_

#include <string>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace millrace {

// Checks every CustomConfig within `message`, whose place in the configuration is `where`: an
// extension that is set must have the name of the part, so that no part gets the message of
// another. Errors: InvalidArgument with all places, one a line.
absl::Status check_custom_messages(const std::string& where,
                                   const google::protobuf::Message& message);

}  // namespace millrace

#endif  // MILLRACE_CONFIG_CUSTOM_CHECK_H_
