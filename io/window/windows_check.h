// The check of a configuration of windows.
#ifndef MILLRACE_IO_WINDOW_WINDOWS_CHECK_H_
#define MILLRACE_IO_WINDOW_WINDOWS_CHECK_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/config.pb.h"

namespace millrace {

// "2026-01-31T00:00:00Z". Errors: InvalidArgument.
absl::StatusOr<absl::Time> parse_window_time(absl::string_view text);

// Checks data.windows. Errors: InvalidArgument that begins with `where`, its place in the
// configuration, and names the field.
absl::Status check_windows(absl::string_view where, const DataConfig& data);

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOWS_CHECK_H_
