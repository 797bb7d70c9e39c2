// Differences of two messages of a configuration.
#ifndef MILLRACE_PROTO_MESSAGE_DIFFERENCES_H_
#define MILLRACE_PROTO_MESSAGE_DIFFERENCES_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace millrace {

// Clears fields that are set to a default declared in the message, also in nested messages. Fields
// without a declared default are kept, since their presence has a meaning.
void clear_defaults(google::protobuf::Message& message);

// Returns a line per field in which the messages differ, in the order of the fields:
// "table[items].dim: 16 → 32". List entries are denoted by their names, or else their numbers. A
// field that is not set shows its default, or "not set". REQUIRES: messages of one type, after
// clear_defaults(), or a default that one of them sets is a difference.
std::vector<std::string> message_differences(const google::protobuf::Message& before,
                                             const google::protobuf::Message& now);

}  // namespace millrace

#endif  // MILLRACE_PROTO_MESSAGE_DIFFERENCES_H_
