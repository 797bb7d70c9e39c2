// The summary of a run as JSON.
#ifndef MILLRACE_TOOLS_SUMMARY_JSON_H_
#define MILLRACE_TOOLS_SUMMARY_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "framework/summary.h"

namespace millrace {

// One object with a final newline. Fields: outcome (completed, stopped, failed), stop_reason,
// error, steps, epochs, windows, examples, skipped_steps, skipped_examples, seconds,
// examples_per_second (of this run), world_size, train (metric → number), eval (the same;
// "set/metric" for sets not named "eval"), rows (table → count), checkpoint (path of the newest, or
// ""), hooks (name → seconds, errors, first_error, disabled, events: name → calls and seconds;
// of this run, on rank 0). Numbers are numbers; not-a-number is null.
std::string summary_json(const Summary& summary);

// Whether the file of --summary can be written, so that a mistake shows before training rather than
// after it; "" is fine. Errors: PermissionDenied naming path and reason.
absl::Status check_summary_file(FileSystem& files, const std::string& path);

// Writes it: a file atomically, a device, a pipe or what a link points to in place. Nothing for "".
// Errors: those of writing.
absl::Status write_summary_file(FileSystem& files, const std::string& path,
                                const std::string& json);

// Ends a command: what came of it, to the file too. Returns: 0, or what went wrong.
absl::StatusOr<int> end_with_summary(FileSystem& files, const std::string& path, Summary summary,
                                     absl::Status status);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_SUMMARY_JSON_H_
