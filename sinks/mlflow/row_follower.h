// The rows of reports that a run appends to files.
#ifndef MILLRACE_SINKS_MLFLOW_ROW_FOLLOWER_H_
#define MILLRACE_SINKS_MLFLOW_ROW_FOLLOWER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "framework/report/report_rows.h"
#include "framework/report/sink.h"
#include "sinks/mlflow/run_state.h"

namespace millrace {

// Reads the rows of train.jsonl and eval.jsonl (framework/report/report_rows.h) that were not sent,
// while a run appends rows. Rows of an interrupted run that the new run replaces stay in a file
// until the first new row; they are not read. Lines that are no rows are skipped. If a file was
// removed or replaced, reads its rows from the beginning. Used by one thread, except
// note_written().
class RowFollower {
 public:
  // Rows of one file that follow each other.
  struct Batch {
    std::vector<ReportRow> rows;
    size_t file = 0;
    int64_t end = 0;  // position behind the last row
  };

  // Borrows `files`. `start`: of the new run; none: no run appends. `sent`: the last step of each
  // set whose rows were sent earlier.
  RowFollower(FileSystem& files, const std::string& directory, std::optional<SinkStart> start,
              SentSteps sent);

  // Notes that the run has appended a row of training, or of an evaluation, to its file. May be
  // called from any thread.
  void note_written(bool train) { files_of_rows_[train ? 0 : 1].has_new_row = true; }

  // Returns the first rows behind the last advance(): at least one row, and no further row once the
  // batch has `most_numbers` numbers. No rows: all were read. Errors: see FileSystem.
  absl::StatusOr<Batch> peek(size_t most_numbers);
  // Moves behind the batch of the last peek().
  void advance(const Batch& batch) { files_of_rows_[batch.file].offset = batch.end; }
  // Moves to the beginning of the files, since no row was sent.
  void restart();

 private:
  struct RowFile {
    std::string path;
    int64_t offset = 0;  // behind the rows that need no more reading
    std::atomic<bool> has_new_row = false;
  };

  absl::StatusOr<Batch> read(size_t file, size_t most_numbers);

  FileSystem& files_;
  const std::optional<SinkStart> start_;
  SentSteps sent_;
  std::array<RowFile, 2> files_of_rows_;  // of training, of evaluations
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_ROW_FOLLOWER_H_
