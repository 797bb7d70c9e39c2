// The job of the campaigns: a tiny model that saves during training, through a real Saver.
#ifndef MILLRACE_TESTS_CAMPAIGNS_CAMPAIGN_JOB_H_
#define MILLRACE_TESTS_CAMPAIGNS_CAMPAIGN_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "checkpoint/saver.h"
#include "framework/trainer.h"

namespace millrace {

// The last part is "checkpoints", by which planted faults recognize the folder.
inline constexpr char kCampaignFolder[] = "out/checkpoints";

struct JobOptions {
  std::string folder = kCampaignFolder;
  int64_t steps = 24;
  double learning_rate = 0.1;  // another rate gives other content of the same shape
  std::function<bool(int64_t step)> saves_at = [](int64_t) { return true; };
  // Three checkpoints stay, two of them whole, so that one in three saves of a long run removes one
  // and reduces another.
  RetentionPolicy retention = {.keep_last = 3, .full_last = 2};
  OnDamage on_damage = OnDamage::kFallback;
  bool cursor_off = false;  // PlantedFault::kCursorOneBatchOff
};

// A restored checkpoint.
struct Restored {
  int64_t step = 0;
  std::string digest;  // CampaignJob::digest() after the restore
  std::string path;
  std::vector<std::string> notes;
};

// A trainer and its Saver. Equal options give equal digests. Used by one thread; starts no thread
// while it saves or restores.
class CampaignJob {
 public:
  // Borrows `files`. Aborts if the options are wrong.
  CampaignJob(FileSystem& files, JobOptions options);

  // Restores the newest checkpoint, if one exists. Errors: as Saver::restore() and
  // Trainer::restore().
  absl::StatusOr<std::optional<Restored>> restore();
  // Does the same without changing the trainer. Returns true if a checkpoint exists.
  absl::StatusOr<bool> look();
  // Trains to the last step. Calls `on_saved` for each checkpoint as soon as it is durable.
  absl::Status train(const std::function<void(int64_t step, const std::string& digest)>& on_saved);
  // Saves the current state through a separate Saver, which holds its lock until the call returns.
  // Errors: as Saver::save().
  absl::Status save_through(FileSystem& files) const;

  // Returns a digest of the whole state that the next step depends on. Equal digests mean states
  // that are equal to the last bit.
  std::string digest() const;

 private:
  TrainState state() const;
  absl::StatusOr<CheckpointInfo> save(const TrainState& state);

  const JobOptions options_;
  FakeClock clock_;
  std::function<void(int64_t step, const std::string& digest)> on_saved_;
  std::vector<std::string> events_;
  std::unique_ptr<Saver> saver_;
  const std::unique_ptr<Saver> reader_;  // locks nothing
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_CAMPAIGN_JOB_H_
