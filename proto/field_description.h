// Describes the fields of a message for people.
#ifndef MILLRACE_PROTO_FIELD_DESCRIPTION_H_
#define MILLRACE_PROTO_FIELD_DESCRIPTION_H_

#include <string>

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace millrace {

// Returns one line per field, with name, type, default, range and comment. Fields of nested
// messages follow, indented:
//
//   when  CadenceConfig                     By default every 100 steps and at the end.
//     every_steps  int64 = 0 [at least 0]   0: never
//   jsonl  bool = true                      Whether to write …
std::string describe_fields(const google::protobuf::Descriptor& message);

}  // namespace millrace

#endif  // MILLRACE_PROTO_FIELD_DESCRIPTION_H_
