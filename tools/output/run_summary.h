// The summary of a run: as JSON, its file, and its times for people.
#ifndef MILLRACE_TOOLS_OUTPUT_RUN_SUMMARY_H_
#define MILLRACE_TOOLS_OUTPUT_RUN_SUMMARY_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "framework/report/summary.h"
#include "job/data_report.h"
#include "tools/output/output_file.h"

namespace millrace {

// Returns an object with a final newline. Fields: outcome (completed, stopped, failed),
// stop_reason, error, steps, epochs, windows, examples, skipped_steps, skipped_examples, seconds,
// examples_per_second (of this run), world_size, train (metric → number), eval (the same;
// "set/metric" for sets not named "eval"), best (null, or the best score, its step and the path of
// that step's checkpoint, or ""), rows (table → count), checkpoint (path of the newest, or ""),
// hooks (name → seconds, errors, first_error, disabled, events: name → calls and seconds; of this
// run, on rank 0). With `data` also data (train_data or eval_data "NAME" → files, rows, bad_files:
// number of omitted files, bad_file_names: the first 100). Not-a-number is null.
std::string summary_json(const Summary& summary, const DataReport* data = nullptr);

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

// Returns a table with the seconds and the share of each part of the run, in lines of at most 40
// bytes, each with a line feed; "" for a run of less than a millisecond. Parts below 0.5 % are
// included in "other".
std::string times_text(const RunTimes& times);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_RUN_SUMMARY_H_
