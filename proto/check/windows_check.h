// What a configuration says about windows, checked.
#ifndef MILLRACE_PROTO_CHECK_WINDOWS_CHECK_H_
#define MILLRACE_PROTO_CHECK_WINDOWS_CHECK_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/config.pb.h"

namespace millrace {

// Files are named one by one in every checkpoint.
inline constexpr int64_t kMaxWindowFiles = 1024;

// Whether data comes in windows: its own, or those of sources that it mixes.
bool comes_in_windows(const DataConfig& data);

// Whether the windows say where their files are, so that DataConfig.path does not.
bool finds_own_files(const WindowsConfig& windows);

// "2026-01-31T00:00:00Z". Errors: InvalidArgument.
absl::StatusOr<absl::Time> parse_window_time(absl::string_view text);

// Of data.windows. Errors: InvalidArgument that begins with `where`, its place in the
// configuration, and names the field.
absl::Status check_windows(absl::string_view where, const DataConfig& data);

}  // namespace millrace

#endif  // MILLRACE_PROTO_CHECK_WINDOWS_CHECK_H_
