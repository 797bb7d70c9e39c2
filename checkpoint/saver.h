// Saves the state of training in a folder of checkpoints and restores it from there.
#ifndef MILLRACE_CHECKPOINT_SAVER_H_
#define MILLRACE_CHECKPOINT_SAVER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/folder/retention.h"
#include "checkpoint/state/background_save.h"
#include "checkpoint/state/frozen_state.h"
#include "checkpoint/state/row_filter.h"
#include "checkpoint/state/state_saver.h"
#include "checkpoint/state/state_writer.h"
#include "distributed/collectives.h"

namespace millrace {

struct SaverOptions {
  std::string folder;      // such as OUTPUT_DIR/checkpoints
  int write_threads = 4;   // the files do not depend on this number
  bool read_only = false;  // if true, the folder is not locked, and saving is an error
  // The folder of the other files of the run; locked as `folder` is, also if read_only is true. "":
  // no such folder.
  std::string run_folder = {};
  // The token of this run in both locks (check_owner() in checkpoint/folder/directory_lock.h). "":
  // a new one.
  std::string token = {};
  // If true, the run resumes only from a checkpoint that it restored itself: open() fails if
  // another checkpoint is the newest of the folder.
  bool own_folder = false;
  bool asynchronous = false;  // the result of asynchronous()
  // Largest size of undo logs, as a share of the size of the tables. Training waits for saves under
  // way once their logs reach this size.
  double undo_share = 0.25;
  int64_t least_undo_bytes = 16 << 20;  // of this size at least, for small tables
  // Largest number of deltas between two whole checkpoints, each delta on the checkpoint before.
  // The delta of a table holds the rows that occurred since its base, and the ids that were evicted
  // since. Where a delta is not possible, on one of several ranks too, a saver saves a whole
  // checkpoint. 0: no deltas.
  int max_deltas = 0;
  // Files of tables have about this size at most, of a table over several ranks on average.
  int64_t file_bytes = int64_t{2} << 30;
  // Patterns of dense tensors and tables that are omitted (checkpoint/state/save_filter.h).
  std::vector<std::string> exclude = {};
  // Rows that are omitted. Not with deltas, which cannot omit rows of their base.
  TableRowFilter row_filter = {};
  OnDamage on_damage = OnDamage::kFallback;
  RetentionPolicy retention = {};
  // Vocabularies of the job, with their digests. A checkpoint with other vocabularies is refused.
  // The manifest lists the vocabularies together with the initial files of training.
  std::vector<CheckpointManifest::ReferredFile> vocabularies = {};
  // For the manifest: the name of the program, the fingerprint of the job (equal for equal jobs)
  // and the TrainConfig as text.
  std::string producer = {};
  std::string fingerprint = {};
  std::string config = {};
  // If true, a checkpoint may be of a job that can_continue_as() (proto/config_fingerprint.h)
  // accepts.
  bool accept_changes = false;
};

// The checkpoints of one job in a folder. Rank 0 holds the lock of the folder and commits. Every
// rank writes its rows of the tables, and reads its rows of a checkpoint from any number of ranks.
// A failure changes no checkpoint of the folder.
//
//   ASSIGN_OR_RETURN(parts.saver, Saver::create(options, files, clock));
//   ASSIGN_OR_RETURN(auto trainer, Trainer::create(trainer_options, std::move(parts)));
//   ASSIGN_OR_RETURN(auto found, trainer->resume(&notes));
//   ASSIGN_OR_RETURN(Summary summary, trainer->train());
//
// An asynchronous saver writes the same bytes as a synchronous saver, with threads of low priority,
// from frozen tables (docs/embedding.md, "Snapshots") and copies of dense tensors. At most two
// saves are under way: one reads the state, the other makes its files durable.
class Saver : public StateSaver {
 public:
  // Creates a saver. Errors: InvalidArgument without a folder; any error of check_saver().
  static absl::StatusOr<std::unique_ptr<Saver>> create(SaverOptions options, FileSystem& files,
                                                       const Clock& clock);

  // Errors: any error of check_save_filter().
  absl::Status check(const TrainState& state) const override;
  void observe_waits(UndoWaits waits) override { waits_ = std::move(waits); }

  // Makes the folders, acquires their locks, and removes files that dead writers left among the
  // checkpoints.
  // Errors: FailedPrecondition if another process holds a lock, which the error names, or if
  // another run has saved to the folder since; Aborted if another process has taken a lock that
  // this one held (check_owner() in checkpoint/folder/directory_lock.h); PermissionDenied for a
  // file that has the name of a checkpoint and is not a directory; write errors.
  absl::Status open(Collectives& ranks) override;

  // Saves `whole` without the tensors and tables that `exclude` omits. The checkpoint is durable
  // when save() returns: see "Commit" in docs/checkpoint_format.md. Verifies a checkpoint of this
  // step that already has the same content and does not write it again. If a checkpoint of the same
  // step differs in other state, such as the state of hooks, the new checkpoint keeps the files of
  // tensors and tables with equal bytes, which take no further disk space. `metrics`: the metrics
  // that retention may use, named as in its policy. Afterwards removes or reduces old checkpoints;
  // logs a failure to do so. Calls open() first if the lock is not held.
  // Errors: FailedPrecondition naming the holder of the lock; Aborted if another process has taken
  // the folder, where then nothing is renamed or removed; ResourceExhausted before the first
  // write if the disk has too little space (on a disk without hard links also later, for a file of
  // a step that is saved again); InvalidArgument for a state that cannot be saved; write errors. An
  // error changes no earlier checkpoint, and the next call may succeed.
  absl::StatusOr<CheckpointInfo> save(const TrainState& whole,
                                      const std::map<std::string, double>& metrics,
                                      Collectives& ranks);

  bool asynchronous() const override { return options_.asynchronous; }
  // If the saver is not asynchronous, calls save() and keeps the checkpoint for finish(). Otherwise
  // first waits for a save that still reads the state, for the older of two saves under way, and
  // for a save of the same step. Calls save() for a step that the folder already has. Calls save()
  // again if the folder was removed while save() wrote. After an error no table is frozen.
  absl::Status begin(const TrainState& whole, const std::map<std::string, double>& metrics,
                     Collectives& ranks) override;
  bool ready() const override;
  absl::StatusOr<std::vector<CheckpointInfo>> poll(bool all_ready, Collectives& ranks) override;
  absl::StatusOr<std::vector<CheckpointInfo>> finish(Collectives& ranks) override;
  void abandon() override;

  // Reads the newest checkpoint of the folder. Returns none if the folder has no checkpoint.
  // Errors: InvalidArgument with the differences if the checkpoint is of another job or model;
  // DataLoss naming the damage if all checkpoints are damaged or, for OnDamage::kStrict, if the
  // newest checkpoint is damaged; any error of search_newest().
  absl::StatusOr<std::optional<FoundCheckpoint>> restore(const TrainState& target,
                                                         Collectives& ranks) override;
  // Reads the checkpoint at `path`, or the newest of another folder (checkpoint_path.h), which rank
  // 0 chooses for all ranks.
  // Errors: as restore(); NotFound if neither exists or the folder is empty.
  absl::StatusOr<FoundCheckpoint> restore_from(const std::string& path, const TrainState& target,
                                               Collectives& ranks) override;
  std::string durable_path(int64_t step) const override;
  void restored(const CheckpointInfo& info) override {
    restored_ = info.path;
    remember(info.path);
  }
  // Abandons the saves under way and waits for their threads.
  ~Saver() override;

 private:
  struct Pending;
  // The newest checkpoint of the folder that the state contains.
  struct Last {
    CheckpointManifest::Base self;                 // the checkpoint as the base of a delta
    std::optional<CheckpointManifest::Base> base;  // its own base if it is a delta
    std::vector<std::string> left_out;
  };

  // The size and the manifest of the files of one rank.
  struct Share {
    int64_t bytes = 0;
    std::string text;  // for rank 0
  };
  // The part of a new checkpoint that the folder already has.
  struct ExistingStep {
    bool same = false;       // if true, a checkpoint with equal content
    int64_t kept_bytes = 0;  // of files that the new checkpoint keeps
  };
  using FindExisting =
      absl::FunctionRef<absl::StatusOr<ExistingStep>(const std::vector<std::string>&)>;
  // The agreement of all ranks before any rank writes.
  struct SavePermit {
    std::string nonce;        // "": the folder has this checkpoint already
    bool keep_files = false;  // CommitOptions::keep_files
  };

  Saver(SaverOptions options, FileSystem& files, const Clock& clock);
  // Makes and locks the folders unless they are locked already. `chooses`: if true, the caller then
  // chooses the checkpoint to resume from, so that a checkpoint of another run is no error.
  absl::Status open_folder(bool chooses);
  absl::Status check_unchanged() const;
  absl::StatusOr<StateWriterOptions> agree_on_options(const TrainState& state, int64_t step,
                                                      Collectives& ranks) const;
  std::optional<CheckpointManifest::Base> next_base(const TrainState& state, int64_t step) const;
  void remember(const std::string& path);
  std::string path_of(int64_t step) const;
  absl::StatusOr<ExistingStep> find(const std::vector<std::string>& parts);
  absl::StatusOr<SavePermit> permit_save(int64_t step, const absl::StatusOr<Share>& own,
                                         FindExisting find, Collectives& ranks);
  absl::Status write(const CommitOptions& options, StateWriter& writer,
                     const std::map<std::string, double>& metrics, Collectives& ranks);
  absl::Status commit(const std::vector<std::string>& parts,
                      const std::map<std::string, double>& metrics, CommitDirectory& directory,
                      ThreadPool& threads);
  // Logs failures. Errors: Aborted if another process has taken the folder.
  absl::Status retain(int64_t saved, ThreadPool& threads);
  SaveWork work_of(Pending& save, FrozenState state, int rank);
  absl::Status save_at_once(const TrainState& whole, const std::map<std::string, double>& metrics,
                            Collectives& ranks);
  absl::Status advance(Collectives& ranks);
  absl::Status await_save(absl::FunctionRef<bool()> await, Collectives& ranks) const;
  absl::Status complete_oldest(Collectives& ranks);
  absl::Status end_failed(const absl::Status& failure, Collectives& ranks);
  bool were_removed(const std::vector<std::string>& paths, const absl::Status& failure,
                    Collectives& ranks);
  absl::StatusOr<FoundCheckpoint> read(const std::string& path, const TrainState& target);
  absl::StatusOr<std::string> list(const std::string& folder);
  absl::StatusOr<FoundCheckpoint> read_agreed(const std::string& path, const TrainState& target,
                                              Collectives& ranks);
  absl::StatusOr<FoundCheckpoint> read_newest(absl::string_view listed, const TrainState& target,
                                              Collectives& ranks);

  const SaverOptions options_;
  FileSystem& files_;
  const Clock& clock_;
  ThreadPool threads_;
  // The word of this run in the locks. A folder that was removed gets it again, so that saves under
  // way do not take this run for another one.
  const std::string token_;
  // On rank 0 after open(): the locks of the folder of the run and of the folder of checkpoints.
  std::unique_ptr<DirectoryLock> run_lock_, lock_;
  bool opened_ = false;                         // if true, the locks are held
  bool was_missing_ = false;                    // if true, restore() found no folder
  std::string restored_;                        // path of the restored checkpoint; "": none
  std::set<std::string> unusable_;              // paths of damaged checkpoints
  std::set<std::string> logged_;                // messages that are logged once
  std::deque<std::unique_ptr<Pending>> saves_;  // saves under way, oldest first
  std::vector<CheckpointInfo> durable_;         // durable ones that poll() has not returned yet
  std::optional<Last> last_;
  UndoWaits waits_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_SAVER_H_
