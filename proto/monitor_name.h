// Names of metrics that hooks and schedules follow.
#ifndef MILLRACE_PROTO_MONITOR_NAME_H_
#define MILLRACE_PROTO_MONITOR_NAME_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns true if `monitor` has the form SET/METRIC. A label may precede METRIC.
bool names_metric(absl::string_view monitor);

// Returns SET of "SET/METRIC", or all of `monitor` if it has no "/".
absl::string_view set_of_monitor(absl::string_view monitor);

// Checks the form of a monitor. Errors: InvalidArgument that begins with `where`, the message with
// the field `monitor`.
absl::Status check_monitor_name(absl::string_view where, absl::string_view monitor);

}  // namespace millrace

#endif  // MILLRACE_PROTO_MONITOR_NAME_H_
