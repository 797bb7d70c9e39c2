// Saves the state of training in a folder of checkpoints, and finds it there again.
#ifndef MILLRACE_CHECKPOINT_SAVER_H_
#define MILLRACE_CHECKPOINT_SAVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint_info.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/directory_lock.h"
#include "checkpoint/retention.h"
#include "checkpoint/state_writer.h"
#include "checkpoint/train_state.h"
#include "distributed/collectives.h"

namespace millrace {

// What is done if the newest checkpoint is damaged.
enum class OnDamage {
  kFallback,  // the one before it is used, with a warning
  kStrict     // an error
};

struct SaverOptions {
  std::string folder;     // such as OUTPUT_DIR/checkpoints
  int write_threads = 4;  // the bytes do not depend on it
  OnDamage on_damage = OnDamage::kFallback;
  RetentionPolicy retention = {};
  // For the manifest: the program; equal texts for equal jobs; the configuration.
  std::string producer = {};
  std::string fingerprint = {};
  std::string config = {};
};

// What restore() found.
struct FoundCheckpoint {
  CheckpointInfo info;
  LoadedState state;
  std::vector<std::string> notes;  // for people: damaged ones that were passed over
};

// The checkpoints of one job. All ranks have one each and call the same functions at the same
// points, between steps, on the thread of the trainer; rank 0 holds the folder's lock and commits.
// What one rank cannot do fails on all of them with its message, and leaves the folder as it was.
//
//   ASSIGN_OR_RETURN(auto saver, Saver::create(options, files, clock, collectives));
//   ASSIGN_OR_RETURN(TrainState target, trainer->capture());
//   ASSIGN_OR_RETURN(auto found, saver->restore(target));
//   if (found) RETURN_IF_ERROR(trainer->restore(std::move(found->state), &found->notes));
//   ... training: ASSIGN_OR_RETURN(CheckpointInfo info, saver->save(state, metrics));
class Saver {
 public:
  // Errors: InvalidArgument for options out of range.
  static absl::StatusOr<std::unique_ptr<Saver>> create(SaverOptions options, FileSystem& files,
                                                       const Clock& clock);

  // Saves all of `state`. Durable when it returns: see "Commit" in docs/checkpoint_format.md. A
  // step that is there already with the same content is not written again. `metrics` are what
  // retention may choose by: names as in its policy. Old checkpoints are then removed or reduced;
  // if that fails it is only logged.
  // Takes the folder's lock first if it has not been taken.
  // Errors: FailedPrecondition naming who holds the lock; ResourceExhausted if there is no room for
  // it, before anything is written; InvalidArgument for what cannot be saved; those of writing.
  // After an error the folder holds what it did, and the next call may succeed.
  absl::StatusOr<CheckpointInfo> save(const TrainState& state,
                                      const std::map<std::string, double>& metrics,
                                      Collectives& ranks);

  // Reads the newest checkpoint of the folder. None: there is none at all.
  // Errors: InvalidArgument, with the differences, if it is one of another job or model; DataLoss
  // saying what is damaged, for OnDamage::kStrict of the newest, else if all are; those of reading.
  absl::StatusOr<std::optional<FoundCheckpoint>> restore(const TrainState& target,
                                                         Collectives& ranks);
  // The same for one checkpoint, anywhere. Errors: NotFound too.
  absl::StatusOr<FoundCheckpoint> restore_from(const std::string& path, const TrainState& target,
                                               Collectives& ranks);

 private:
  Saver(SaverOptions options, FileSystem& files, const Clock& clock);
  absl::Status open_folder();
  absl::StatusOr<std::string> begin(int64_t bytes, Collectives& ranks);
  absl::StatusOr<CheckpointManifest> write(const TrainState& state, const StateWriter& writer,
                                           CommitDirectory& directory);
  absl::Status commit(const std::vector<std::string>& parts,
                      const std::map<std::string, double>& metrics, CommitDirectory& directory);
  void retain();
  absl::StatusOr<FoundCheckpoint> read(const std::string& path, const TrainState& target);
  absl::Status check_job(const CheckpointManifest& manifest) const;

  const SaverOptions options_;
  FileSystem& files_;
  const Clock& clock_;
  ThreadPool threads_;
  std::unique_ptr<DirectoryLock> lock_;  // on rank 0, once it has been taken
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_SAVER_H_
