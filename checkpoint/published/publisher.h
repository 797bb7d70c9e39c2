// Publishes checkpoints of a run for servers.
#ifndef MILLRACE_CHECKPOINT_PUBLISHED_PUBLISHER_H_
#define MILLRACE_CHECKPOINT_PUBLISHED_PUBLISHER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/published/published_folder.h"
#include "proto/published_versions.pb.h"

namespace millrace {

// The rules by which a run publishes.
struct PublishRules {
  // SET/METRIC of the gate; "": each checkpoint is published.
  std::string monitor = "";
  bool higher_is_better = true;
  // A value is refused if it is worse than the value of the served version by more than this.
  double most_worse = 0;
  int64_t keep_last = 5;  // published versions that are retained; at least 1
  // Identity of the run, which resumes keep; only it may publish to its folder.
  std::string run = "";
};

// The decision on a checkpoint.
struct PublishOutcome {
  enum Kind {
    kPublished,
    kRefused,      // by the gate, for `reason`
    kNoCandidate,  // no evaluation of its step, or decided before
  };
  Kind kind = kNoCandidate;
  std::string reason = "";
  int64_t copied_bytes = 0;  // linked files included
  // The error of the removal of old versions; it is tried again with the next version.
  absl::Status retention = absl::OkStatus();
};

// Writes to one folder, whose lock it holds from begin() on. Used by one thread at a time. At any
// time, and after a kill at any place, the list names whole versions only.
class Publisher {
 public:
  // Borrows `files` and `clock`.
  Publisher(FileSystem& files, const Clock& clock, std::string folder, PublishRules rules);

  // Takes the folder: makes it if it is missing, and removes unfinished work of a killed process.
  // Does nothing when it is called again after a success.
  // Errors: FailedPrecondition of kind kBusy if another process publishes to the folder, and
  // without a kind if its list is of another run or if it has other files and no list; DataLoss for
  // a damaged list; read and write errors.
  absl::Status begin();

  // Publishes the checkpoint in the directory `checkpoint`, or refuses it: copies the checkpoint,
  // its bases and the files that its job refers to (on one disk as hard links), replaces the list,
  // then removes versions beyond keep_last. The current and the pinned version and their bases
  // stay. If training resumed from an earlier checkpoint with other results, versions whose files
  // are replaced leave the list first. `data_time`: as PublishedVersions::Version has
  // it, or "".
  // Errors: as begin(); FailedPrecondition for a step before the current version's, and if the
  // pinned version would be replaced; Aborted if another process has taken the folder since;
  // InvalidArgument for a vocabulary that has changed since the run began; errors of open_chain();
  // read and write errors. No version is added then.
  absl::StatusOr<PublishOutcome> offer(const std::string& checkpoint, const std::string& data_time);

 private:
  absl::Status check_run(const PublishedVersions& versions) const;
  absl::Status check_empty() const;
  absl::StatusOr<PublishOutcome> offer_once(const std::string& checkpoint,
                                            const std::string& data_time);
  absl::StatusOr<std::string> refusal(double value);
  absl::Status drop_dependents(CheckpointChain chain);
  absl::Status write(PublishedVersions next);
  absl::Status copy_referred(const CheckpointManifest& manifest);
  absl::StatusOr<int64_t> copy_checkpoint(const CheckpointReader& from);
  absl::Status append(PublishedVersions::Version version);
  absl::Status remove_old();

  FileSystem& files_;
  const Clock& clock_;
  const std::string folder_;
  const PublishRules rules_;
  const std::string token_;  // of the lock: check_owner()
  std::unique_ptr<DirectoryLock> lock_;
  PublishedVersions versions_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_PUBLISHED_PUBLISHER_H_
