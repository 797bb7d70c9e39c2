// Saves the state of training in a folder of checkpoints, and finds it there again.
#ifndef MILLRACE_CHECKPOINT_SAVER_H_
#define MILLRACE_CHECKPOINT_SAVER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
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
#include "checkpoint/state/state_writer.h"
#include "checkpoint/state_saver.h"
#include "distributed/collectives.h"

namespace millrace {

struct SaverOptions {
  std::string folder;      // such as OUTPUT_DIR/checkpoints
  int write_threads = 4;   // the bytes do not depend on it
  bool read_only = false;  // the folder is not locked, and saving is an error
  // Where the run writes more than checkpoints: locked like the folder, also by read_only. "":
  // none.
  std::string run_folder = {};
  // The run goes on from nothing in the folder but what it restored, if anything: if another
  // checkpoint is the newest there when it is opened, it is refused.
  bool own_folder = false;
  bool asynchronous = false;  // what asynchronous() says
  // Of what tables hold, the share that undo logs may take while saves are under way;
  // beyond that training waits.
  double undo_share = 0.25;
  // Between two whole checkpoints so many deltas may stand, each on the one before: of tables they
  // hold the rows that steps saw since, and the ids that went. By a saver of one rank only; whole
  // where a delta is not possible. 0: none.
  int max_deltas = 0;
  // Patterns over dense tensors and tables that are not saved (checkpoint/state/save_filter.h).
  std::vector<std::string> exclude = {};
  OnDamage on_damage = OnDamage::kFallback;
  RetentionPolicy retention = {};
  // Vocabularies of the job, as they are. A checkpoint with another one is not gone on from. In the
  // manifest, with what the state says training began with.
  std::vector<CheckpointManifest::ReferredFile> vocabularies = {};
  // For the manifest: the program; equal texts for equal jobs; the TrainConfig as text.
  std::string producer = {};
  std::string fingerprint = {};
  std::string config = {};
};

// The checkpoints of one job in a folder. Rank 0 holds the folder's lock and commits; whatever goes
// wrong leaves the folder as it was.
//
//   ASSIGN_OR_RETURN(parts.saver, Saver::create(options, files, clock));
//   ASSIGN_OR_RETURN(auto trainer, Trainer::create(trainer_options, std::move(parts)));
//   ASSIGN_OR_RETURN(auto found, trainer->resume(&notes));
//   ASSIGN_OR_RETURN(Summary summary, trainer->train());
//
// Asynchronously the files are the same bytes. Threads of lowered priority write them; tables are
// frozen meanwhile (docs/embedding.md, "Snapshots"), dense tensors are copied. At most two saves
// are under way, one of them being read, the other being made durable.
class Saver : public StateSaver {
 public:
  // Errors: InvalidArgument for options out of range.
  static absl::StatusOr<std::unique_ptr<Saver>> create(SaverOptions options, FileSystem& files,
                                                       const Clock& clock);

  // Errors: those of check_save_filter.
  absl::Status check(const TrainState& state) const override;

  // Takes the folders' locks, making them, and removes what dead writers left among checkpoints.
  // Errors: FailedPrecondition naming who holds the lock, or saying that another run has saved
  // there meanwhile; PermissionDenied for what is no directory and has the name of a checkpoint;
  // those of writing.
  absl::Status open(Collectives& ranks) override;

  // Saves `whole`, but for what options leave out. Durable when it returns: see "Commit" in
  // docs/checkpoint_format.md. A step that is there already with the same content is read, and not
  // written again. If it is there with another state, such as that of hooks, the new checkpoint
  // keeps the files of tensors and tables whose bytes are the same, and needs no room for them.
  // `metrics` are what retention may choose by: names as in its policy. Old
  // checkpoints are then removed or reduced; if that fails it is only logged. Takes the folder's
  // lock first if it has not been taken. Errors: FailedPrecondition naming who holds the lock;
  // ResourceExhausted if there is no room for it, before anything is written (on a disk without
  // hard links, a file of a step that is saved again may also find that out later); InvalidArgument
  // for what cannot be saved; those of writing. After an error the folder holds what it did, and
  // the next call may succeed.
  absl::StatusOr<CheckpointInfo> save(const TrainState& whole,
                                      const std::map<std::string, double>& metrics,
                                      Collectives& ranks);

  bool asynchronous() const override { return options_.asynchronous; }
  // If the saver is not asynchronous, saves before it returns, as save() does, and finish() gives
  // the checkpoint. Else: if another save is still being read, two are under way or one of the same
  // step is, waits for that first. A step that is in the folder already is saved before this
  // returns, too. After an error no table is frozen.
  absl::Status begin(const TrainState& whole, const std::map<std::string, double>& metrics,
                     Collectives& ranks) override;
  bool ready() const override;
  absl::StatusOr<std::vector<CheckpointInfo>> poll(bool all_ready, Collectives& ranks) override;
  absl::StatusOr<std::vector<CheckpointInfo>> finish(Collectives& ranks) override;

  // Reads the newest checkpoint of the folder. None: there is none at all.
  // Errors: InvalidArgument, with the differences, if it is one of another job or model; DataLoss
  // saying what is damaged, for OnDamage::kStrict of the newest, else if all are; those of
  // search_newest.
  absl::StatusOr<std::optional<FoundCheckpoint>> restore(const TrainState& target,
                                                         Collectives& ranks) override;
  // The same for one checkpoint, anywhere, or for another folder of them (checkpoint_path.h), where
  // rank 0 chooses for all. Errors: NotFound too, also for an empty folder.
  absl::StatusOr<FoundCheckpoint> restore_from(const std::string& path, const TrainState& target,
                                               Collectives& ranks) override;
  void restored(const CheckpointInfo& info) override {
    restored_ = info.path;
    remember(info.path);
  }
  // Waits for what is under way and commits none of it.
  ~Saver() override;

 private:
  struct Pending;
  // The checkpoint of the folder that the state goes on from.
  struct Last {
    CheckpointManifest::Base self;                 // as the base of a delta on it
    std::optional<CheckpointManifest::Base> base;  // that it is a delta on
    std::vector<std::string> left_out;
  };

  // What one rank writes.
  struct Share {
    int64_t bytes = 0;
    std::string text;  // for rank 0
  };
  // What the folder has of a step.
  struct ExistingStep {
    bool same = false;       // all of it
    int64_t kept_bytes = 0;  // of files that a new checkpoint of the step will keep
  };
  using FindExisting =
      absl::FunctionRef<absl::StatusOr<ExistingStep>(const std::vector<std::string>&)>;
  // What the ranks agree on before they write.
  struct SavePermit {
    std::string nonce;        // "": it is there already
    bool keep_files = false;  // CommitOptions::keep_files
  };

  Saver(SaverOptions options, FileSystem& files, const Clock& clock);
  // `chooses`: what the run goes on from is looked up in the folder after this.
  absl::Status open_folder(bool chooses);
  absl::Status check_unchanged() const;
  std::optional<CheckpointManifest::Base> next_base(const TrainState& state, int64_t step,
                                                    int world_size) const;
  void remember(const std::string& path);
  std::string path_of(int64_t step) const;
  absl::StatusOr<ExistingStep> find(const std::vector<std::string>& parts);
  absl::StatusOr<SavePermit> make_room(const absl::StatusOr<Share>& own, FindExisting find,
                                       Collectives& ranks);
  absl::Status write(const CommitOptions& options, StateWriter& writer,
                     const std::map<std::string, double>& metrics, Collectives& ranks);
  absl::Status commit(const std::vector<std::string>& parts,
                      const std::map<std::string, double>& metrics, CommitDirectory& directory,
                      ThreadPool& threads);
  void retain(int64_t saved, ThreadPool& threads);
  SaveWork work_of(Pending& save, FrozenState state, int rank);
  absl::Status save_at_once(const TrainState& whole, const std::map<std::string, double>& metrics,
                            Collectives& ranks);
  absl::Status advance(Collectives& ranks);
  absl::Status complete_oldest(Collectives& ranks);
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
  // On rank 0, once they have been taken: of the run's folder and of that of checkpoints.
  std::unique_ptr<DirectoryLock> run_lock_, lock_;
  bool opened_ = false;                         // the locks are held, and nothing is against it
  bool was_missing_ = false;                    // the folder, when it was looked through
  std::string restored_;                        // path of what the run goes on from; "": nothing
  std::set<std::string> unusable_;              // paths of damaged ones; of rank 0's commits too
  std::set<std::string> told_;                  // what was logged and would be at every save
  std::deque<std::unique_ptr<Pending>> saves_;  // under way, in the order they were begun
  std::vector<CheckpointInfo> durable_;         // that poll has not returned yet
  std::optional<Last> last_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_SAVER_H_
