// Durations as text in a configuration: max_duration: "2h30m".
#ifndef MILLRACE_PROTO_CONFIG_DURATIONS_H_
#define MILLRACE_PROTO_CONFIG_DURATIONS_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"

namespace millrace {

// Replaces each string field NAME_duration of `message` and all messages in it by the field
// NAME_seconds beside it, so that only seconds are read afterwards. A duration is a sequence of
// decimal numbers with the units h, m, s and ms, such as "90s", "1.5h" or "2h30m". `where` is the
// path of `message`; "": the root. Idempotent.
// Errors: InvalidArgument with the path of the field for a text that is no duration or is negative,
// for one beyond the range of absl::Duration, and if both fields are set.
absl::Status use_durations(const std::string& where, google::protobuf::Message* message);

}  // namespace millrace

#endif  // MILLRACE_PROTO_CONFIG_DURATIONS_H_
