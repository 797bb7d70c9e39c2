// Visits the parts of a message.
#ifndef MILLRACE_PROTO_MESSAGE_VISIT_H_
#define MILLRACE_PROTO_MESSAGE_VISIT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace millrace {

// Returns true for a field that holds a message or messages.
bool is_message(const google::protobuf::FieldDescriptor& field);

// Returns the fields and extensions of `message` that are set, in the order of their numbers.
std::vector<const google::protobuf::FieldDescriptor*> set_fields(
    const google::protobuf::Message& message);

// Called with a message, whose path is `place`, such as "train.feature[2]".
using MessageVisitor =
    std::function<absl::Status(const std::string& place, google::protobuf::Message* message)>;

// Calls `visit` with `message` and then with each message in it, also in extensions, in the order
// of the fields. `where` is the path of `message`; "": the root. Stops at the first error of
// `visit`, which may change the message.
absl::Status visit_messages(const std::string& where, const MessageVisitor& visit,
                            google::protobuf::Message* message);

// Changes a string, whose path is `place`.
using StringChange = std::function<absl::Status(
    const std::string& place, const google::protobuf::FieldDescriptor& field, std::string* value)>;

// Calls `change` with every string that is set in `message` and the messages in it, except fields
// of type bytes. Stops at the first error of `change`.
absl::Status change_strings(const std::string& where, const StringChange& change,
                            google::protobuf::Message* message);

}  // namespace millrace

#endif  // MILLRACE_PROTO_MESSAGE_VISIT_H_
