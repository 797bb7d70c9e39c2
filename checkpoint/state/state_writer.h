// The state of a trainer on its way to the files of a checkpoint.
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
  // A delta on this one; none: everything.
  std::optional<CheckpointManifest::Base> base;
  // Files that each rank writes of each table, in the order of the tables. Empty: one of each.
  std::vector<int64_t> table_files = {};
};

// What one rank writes of one checkpoint: rank 0 the dense tensors, which are the same on all, and
// every rank its tables and its own state.
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

  // Of its files, nearly.
  int64_t size_bytes() const;
  // To be called once: all of the state has been read when it returns. Errors: those of
  // CommitDirectory.
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
