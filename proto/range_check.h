// Checks numbers of messages by the options of proto/field_rules.proto.
#ifndef MILLRACE_PROTO_RANGE_CHECK_H_
#define MILLRACE_PROTO_RANGE_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace millrace {

// Checks the fields of `message` that have a rule, except those of messages within it. An absent
// field has its default; without a default, no rule applies to it.
// Errors: InvalidArgument with one line for each number out of range, in the order of the fields:
// "WHERE: FIELD is VALUE; must be RULE". Elements of a repeated field are named FIELD[i].
absl::Status check_own_ranges(absl::string_view where, const google::protobuf::Message& message);

// As check_own_ranges(), also for each message within `message`, whose place is WHERE.FIELD or
// WHERE.FIELD[i]. Does not enter extensions, which belong to registered parts: see
// check_custom_messages() of config/custom_check.h.
absl::Status check_ranges(absl::string_view where, const google::protobuf::Message& message);

// As check_ranges(), for the extensions of `message`, the configuration of the part `name`. The
// place of the extension with the name of the part is `where`; that of another extension has its
// name in brackets, too.
absl::Status check_extension_ranges(absl::string_view where,
                                    const google::protobuf::Message& message,
                                    absl::string_view name);

// Returns the rule of a field in words, such as "above 0 and at most 1"; "" if it has none.
std::string range_text(const google::protobuf::FieldDescriptor& field);

}  // namespace millrace

#endif  // MILLRACE_PROTO_RANGE_CHECK_H_
