// Writes the state of a trainer to the files of a checkpoint.
#ifndef MILLRACE_CHECKPOINT_STATE_STATE_WRITER_H_
#define MILLRACE_CHECKPOINT_STATE_STATE_WRITER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/format/tensor_file_layout.h"
#include "checkpoint/state/frozen_state.h"
#include "checkpoint/state/table_writer.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

struct StateWriterOptions {
  int rank = 0;
  int world_size = 1;
  // The base of a delta; none: a whole checkpoint.
  std::optional<CheckpointManifest::Base> base = std::nullopt;
  // Number of files that each rank writes per table, in the order of the tables. Empty: one file
  // per table.
  std::vector<int64_t> table_files = {};
};

// Writes one rank's files of one checkpoint: rank 0 the dense tensors, which are equal on all
// ranks, and every rank its tables and its own state.
//
//   ASSIGN_OR_RETURN(StateWriter writer,
//                    StateWriter::create(view_state(state), options, threads));
//   RETURN_IF_ERROR(writer.write(directory, threads));
//   manifest = writer.manifest();   // all but files, job and metrics
class StateWriter {
 public:
  // Errors: InvalidArgument for tensors and tables that cannot be saved, naming them.
  static absl::StatusOr<StateWriter> create(FrozenState state, const StateWriterOptions& options,
                                            ThreadPool& threads);

  // Returns the approximate size of the files.
  int64_t size_bytes() const;
  // Writes the files. Called once: all of the state has been read when it returns. Errors: any
  // error of CommitDirectory.
  absl::Status write(CommitDirectory& directory, ThreadPool& threads);
  const CheckpointManifest& manifest() const { return manifest_; }

 private:
  StateWriter() = default;
  absl::Status plan_dense(FrozenState& state);
  absl::Status plan_tables(FrozenState& state, const StateWriterOptions& options,
                           ThreadPool& threads);
  void add_digest(const std::string& name, absl::uint128 digest);

  std::optional<TensorFileLayout> dense_;
  std::vector<NamedParameter> tensors_;  // contiguous
  std::vector<TableWriter> tables_;
  std::string rank_state_;
  std::string rank_state_name_;
  CheckpointManifest manifest_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_STATE_WRITER_H_
