// The file of --summary.
#ifndef MILLRACE_TOOLS_OUTPUT_SUMMARY_FILE_H_
#define MILLRACE_TOOLS_OUTPUT_SUMMARY_FILE_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "framework/report/summary.h"
#include "tools/output/output_file.h"

namespace millrace {

// The output file of a command's summary. May replace a summary, an empty file, and with
// `overwrite` any file but an input of the run. `overwrite` has no effect until the inputs are
// known. Used by one thread.
//
//   SummaryFile file(files, flags.summary, flags.overwrite);
//   RETURN_IF_ERROR(file.check());                       // before anything is read
//   RETURN_IF_ERROR(file.check_inputs([&] { return run_inputs(...); }));  // before the work
//   return file.end_command(summary, status);
class SummaryFile {
 public:
  // Borrows `files`. `path` "": no file, and every call succeeds.
  SummaryFile(FileSystem& files, std::string path, bool overwrite)
      : files_(files), path_(std::move(path)), overwrite_(overwrite) {}

  // Checks that a file can be written at the path. Errors: InvalidArgument of check_shell_path;
  // PermissionDenied with path and reason.
  absl::Status check() const;

  // Checks that the path is none of `inputs`, and that an existing file may be replaced: in this
  // order, since --overwrite, which the second error recommends, never replaces an input. `inputs`
  // is called only if there is a path, since finding the inputs may list many directories. After an
  // error nothing is written.
  // Errors: InvalidArgument with the path and the input; PermissionDenied of check_replaceable.
  absl::Status check_inputs(absl::FunctionRef<std::vector<RunInput>()> inputs);

  // Writes `json`: a file atomically, the target of a link in place, and a pipe, a device or an
  // open file of this process (/dev/stdout) by appending. Errors: errors of check() and
  // check_replaceable; errors of writing.
  absl::Status write(const std::string& json) const;

  // Writes the summary of a command that ended with `status`. Returns: 0, or the error.
  absl::StatusOr<int> end_command(Summary summary, absl::Status status) const;

 private:
  FileSystem& files_;
  std::string path_;
  const bool overwrite_;
  bool knows_inputs_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_SUMMARY_FILE_H_
