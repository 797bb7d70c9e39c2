// The rows of reports that a run appends to files.
#ifndef MILLRACE_SINKS_MLFLOW_ROW_FOLLOWER_H_
#define MILLRACE_SINKS_MLFLOW_ROW_FOLLOWER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/lines/file_lines.h"
#include "framework/report/report_rows.h"
#include "framework/report/sink.h"
#include "sinks/mlflow/run_state.h"

namespace millrace {

// Reads the rows of train.jsonl and eval.jsonl (framework/report/report_rows.h) that were not sent,
// while a run appends rows. Lines that are no rows are skipped. If a file was removed or replaced,
// reads its rows from the beginning. Used by one thread.
//
// The new run replaces the rows of an interrupted run behind its checkpoint. They stay in a file
// until the first new row, and are not read: reading stops at the first of them while the file is
// as at the start of the run.
class RowFollower {
 public:
  // Rows of one file that follow each other.
  struct Batch {
    std::vector<ReportRow> rows;
    size_t file = 0;
    RowPlace last;
  };

  // Opens the files. Borrows `files`. Called before the first row of the run. `start`: of the new
  // run; none: no run appends. `sent`: see MlflowRunState; the names are kTrainRows and kEvalRows.
  RowFollower(FileSystem& files, const std::string& directory, std::optional<SinkStart> start,
              const SentRows& sent);

  // Returns the first rows behind the last advance(): at least one row, and no further row once the
  // batch has `most_numbers` numbers. No rows: all were read. Errors: see FileSystem.
  absl::StatusOr<Batch> peek(size_t most_numbers);
  // Moves behind the batch of the last peek().
  void advance(const Batch& batch) { files_of_rows_[batch.file].last = batch.last; }
  // Moves to the beginning of the files, since no row was sent.
  void restart();
  // Returns the rows of the last advance().
  SentRows sent() const;

 private:
  struct RowFile {
    std::string path;
    RowPlace last;  // needs no more reading, nor do the rows before
    // The content at the start of the run, also if the file is replaced meanwhile; null once
    // find_replaced() has read it.
    std::unique_ptr<LineReader> at_start;
    // The first row that the run replaces, and the size of a file that still has it.
    std::optional<RowPlace> replaced;
    int64_t size_at_start = 0;
  };

  // Finds `replaced`. Moves `last` in front of it.
  void find_replaced(RowFile& file) const;
  absl::StatusOr<Batch> read(size_t file, size_t most_numbers);

  FileSystem& files_;
  const std::optional<SinkStart> start_;
  std::array<RowFile, 2> files_of_rows_;  // of training, of evaluations
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_ROW_FOLLOWER_H_
