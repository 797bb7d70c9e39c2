// What a file that a command writes may replace, and how it is written.
#ifndef MILLRACE_TOOLS_OUTPUT_OUTPUT_FILE_H_
#define MILLRACE_TOOLS_OUTPUT_OUTPUT_FILE_H_

#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file_system.h"

namespace millrace {

// A file that a run reads or that it writes under a name of its own.
struct RunInput {
  std::string what;  // as messages name it, such as "train.train_data"
  std::string path;
};

// A kind of file that a command writes, such as "a summary".
struct OutputKind {
  std::string name;
  // Returns true if the file is one that Millrace wrote as this kind. Reads it as far as needed.
  std::function<bool(FileSystem& files, const std::string& path)> matches;
};

// True if both paths name one file, be it by links; of files that are not there, by their names.
bool is_same_file(const std::string& a, const std::string& b);

// Refuses to write `path` if it is one of the files of `inputs`, or in the place of checkpoints.
// Errors: InvalidArgument naming the path and the input; PermissionDenied of
// check_outside_checkpoints (checkpoint/folder/outside_checkpoints.h).
absl::Status check_not_input(FileSystem& files, const std::string& path,
                             absl::Span<const RunInput> inputs);

// Refuses to replace a file that is there and not of `kind`, unless it is empty or `overwrite` is
// true. Errors: PermissionDenied naming the path and --overwrite.
absl::Status check_replaceable(FileSystem& files, const std::string& path, const OutputKind& kind,
                               bool overwrite);

// Refuses a path whose extension is that of well-known files of another kind, such as .png for a
// chart as SVG. `what`: what is written, "SVG"; `extensions`: those of it, in lower case. Upper and
// lower case of `path` are equal. Errors: InvalidArgument naming the path and `extensions`.
absl::Status check_extension(absl::string_view path, absl::string_view what,
                             absl::Span<const absl::string_view> extensions);

// Checks all that can be checked of an output file before the work begins: check_output_file,
// check_not_input and check_replaceable.
absl::Status check_output(FileSystem& files, const std::string& path, const OutputKind& kind,
                          absl::Span<const RunInput> inputs, bool overwrite);

// Checks the same of a file that people edit, such as a configuration: whatever is there, also a
// link that leads nowhere, is replaced only if it is empty or `overwrite` is true.
absl::Status check_edited_output(FileSystem& files, const std::string& path,
                                 absl::Span<const RunInput> inputs, bool overwrite);

// Writes as write_file_atomically does, for files that take long: first removes what writers of
// `path` left beside it that were killed. A writer holds a lock on the file that it writes, so
// that others leave it alone.
absl::Status write_output_file(FileSystem& files, const std::string& path,
                               const std::function<absl::Status(WritableFile&)>& write);

// The same for whoever calls write_file_atomically for `path` in `write`.
absl::Status with_output_lock(FileSystem& files, const std::string& path,
                              absl::FunctionRef<absl::Status()> write);

// The same for a directory that is new: `write` gets the name of an empty one beside `path`, which
// becomes `path` once it is whole. If it fails, or the process is killed, nothing is at `path`.
absl::Status write_output_directory(FileSystem& files, const std::string& path,
                                    const std::function<absl::Status(const std::string&)>& write);

// Removes what these left beside `path` and no process has locked, as far as it may.
void remove_leftovers(FileSystem& files, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_OUTPUT_FILE_H_
