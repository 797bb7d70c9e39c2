// Rules for replacing output files, and safe ways to write them.
#ifndef MILLRACE_TOOLS_OUTPUT_OUTPUT_FILE_H_
#define MILLRACE_TOOLS_OUTPUT_OUTPUT_FILE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "job/input_paths.h"

namespace millrace {

// A kind of output file of a command, such as "a summary".
struct OutputKind {
  std::string name;
  // Returns true if Millrace wrote the file as this kind. Reads as much as needed.
  std::function<bool(FileSystem& files, const std::string& path)> matches;
};

// Returns `path` and the paths to which a chain of symbolic links at `path` leads, the end last.
// Stops after as many links as Linux follows.
std::vector<std::string> link_chain(const std::string& path);

// Returns true if both paths name the same file, also through links. Missing files are compared by
// name.
bool is_same_file(const std::string& a, const std::string& b);

// Checks that `path` differs from all `inputs` and is not in the place of checkpoints.
// Errors: InvalidArgument with the path and the input; PermissionDenied of
// check_outside_checkpoints (checkpoint/folder/outside_checkpoints.h).
absl::Status check_not_input(FileSystem& files, const std::string& path,
                             absl::Span<const RunInput> inputs);

// Refuses to replace an existing file of another kind than `kind`, unless the file is empty or
// `overwrite` is true. Errors: PermissionDenied with the path and --overwrite.
absl::Status check_replaceable(FileSystem& files, const std::string& path, const OutputKind& kind,
                               bool overwrite);

// Refuses a path with the extension of well-known files of another kind, such as .png for a chart
// as SVG. `what`: the written kind, "SVG"; `extensions`: its extensions, in lower case. Ignores the
// case of `path`. Errors: InvalidArgument with the path and `extensions`.
absl::Status check_extension(absl::string_view path, absl::string_view what,
                             absl::Span<const absl::string_view> extensions);

// Checks an output file as far as possible before the work begins: check_output_file,
// check_not_input and check_replaceable.
absl::Status check_output(FileSystem& files, const std::string& path, const OutputKind& kind,
                          absl::Span<const RunInput> inputs, bool overwrite);

// Checks a file that people edit, such as a configuration, in the same way. An existing file of any
// kind, or a dangling link, is replaced only if empty or if `overwrite` is true.
absl::Status check_edited_output(FileSystem& files, const std::string& path,
                                 absl::Span<const RunInput> inputs, bool overwrite);

// Writes a file like write_file_atomically, for files that take long, and follows symbolic links at
// `path`. First removes temporary files of killed writers of `path`. A writer holds a lock next to
// its temporary file, which protects the file from other writers.
absl::Status write_output_file(FileSystem& files, const std::string& path,
                               const std::function<absl::Status(WritableFile&)>& write);

// Does the same for a `write` that calls write_file_atomically for `path`.
absl::Status with_output_lock(FileSystem& files, const std::string& path,
                              absl::FunctionRef<absl::Status()> write);

// Does the same for a new directory: `write` gets the name of an empty directory next to `path`,
// which is renamed to `path` once complete. If `write` fails, or the process is killed, `path` does
// not exist.
absl::Status write_output_directory(FileSystem& files, const std::string& path,
                                    const std::function<absl::Status(const std::string&)>& write);

// Removes leftovers of these functions next to `path` that no process has locked, as far as
// permitted.
void remove_leftovers(FileSystem& files, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_OUTPUT_FILE_H_
