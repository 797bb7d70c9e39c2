// Writes a table's rows and state to files.
#ifndef MILLRACE_CHECKPOINT_STATE_TABLE_WRITER_H_
#define MILLRACE_CHECKPOINT_STATE_TABLE_WRITER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/format/tensor_file_layout.h"
#include "embedding/table/table_snapshot.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

struct TableWriterOptions {
  bool row_state = true;    // the part ROW_STATE
  bool table_state = true;  // the part TABLE_STATE
  // For a delta: the base's step. The delta has the rows that later steps saw, and the ids that
  // were evicted since.
  std::optional<int64_t> since;
  int64_t files = 1;  // files of this rank; each has an equal part of the rank's placement hashes
};

// Returns TableWriterOptions::files, which is the same for all ranks: the number that gives files
// of at most about `file_bytes`, and at most 1,024 files of all ranks together unless there are
// more ranks. `bytes`: size of all rows of the table.
int64_t files_of_rank(int64_t bytes, int world_size, int64_t file_bytes);

// Writes the files of one table, by the tables of docs/checkpoint_format.md; of a table on several
// ranks, this rank's files (EmbeddingTable::placement). The bytes are a function of the table's
// content and the options, and do not depend on the number of threads.
//
//   ASSIGN_OR_RETURN(TableWriter writer,
//                    TableWriter::create(table->content().freeze(budget), options, threads));
//   ... check_free_space(... writer.size_bytes()) ...
//   RETURN_IF_ERROR(writer.write(directory, threads));
//   *manifest.add_tables() = writer.entry();
class TableWriter {
 public:
  // Sorts the rows. Errors: OutOfRange if the ids evicted since `since` are not known;
  // InvalidArgument for a table whose name is not valid in a file name.
  static absl::StatusOr<TableWriter> create(std::unique_ptr<TableSnapshot> table,
                                            const TableWriterOptions& options, ThreadPool& threads);

  // The table's schema, with this rank's rows and digests.
  const CheckpointManifest::Table& entry() const { return entry_; }
  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }  // number of rows to write
  int64_t size_bytes() const;                                          // size of all files

  // Writes the files. Called once: afterwards, also after an error, the snapshot has been read
  // (TableSnapshot::finish). Errors: any error of CommitDirectory::write_tensors().
  absl::Status write(CommitDirectory& directory, ThreadPool& threads);

 private:
  // The source of a tensor's bytes.
  struct Source {
    enum Kind { kRecord, kId, kFrequency, kLastStep, kBytes };
    Kind kind = kBytes;
    int64_t at = 0;          // offset in a record
    std::string bytes = {};  // the whole tensor
  };
  struct File {
    CheckpointManifest::File entry;
    size_t first_row = 0, end_row = 0;  // of rows_
    std::optional<TensorFileLayout> layout;
    std::map<std::string, Source> sources;  // by name of tensor
  };

  // The content of the part TABLE_STATE.
  struct TableState {
    AdmissionState admission;
    EvictedLogState evicted;
  };

  explicit TableWriter(std::unique_ptr<TableSnapshot> table) : table_(std::move(table)) {}
  // Removes the rows that a delta does not contain.
  void leave_out(const TableWriterOptions& options);
  absl::Status plan_files(const TableWriterOptions& options, const TableState& state);
  absl::Status plan_file(const TableWriterOptions& options, const TableState& state,
                         File& file) const;
  void plan_table_state(const TableState& state, File& file,
                        std::vector<TensorInfo>& tensors) const;
  absl::Status write_files(CommitDirectory& directory, ThreadPool& threads) const;
  void fill(const File& file, const TensorInfo& tensor, int64_t begin,
            absl::Span<char> bytes) const;
  template <typename Value>
  static void fill_numbers(int64_t begin, absl::Span<char> bytes, const Value& value);

  std::unique_ptr<TableSnapshot> table_;
  std::string prefix_;  // of tensor names
  CheckpointManifest::Table entry_;
  std::vector<RowIndex> rows_;  // by ascending placement hash
  std::vector<int64_t> tombstones_;
  std::vector<File> files_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_TABLE_WRITER_H_
