// The job of the campaigns: a tiny model that saves as it trains, through a real Saver.
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

// Its last part is "checkpoints", by which planted faults know it.
inline constexpr char kCampaignFolder[] = "out/checkpoints";

struct JobOptions {
  std::string folder = kCampaignFolder;
  int64_t steps = 24;
  double learning_rate = 0.1;  // another one makes another content of the same shape
  std::function<bool(int64_t step)> saves_at = [](int64_t) { return true; };
  // Three stay, the last two as a whole: one in three saves of a long run removes and reduces.
  RetentionPolicy retention = {.keep_last = 3, .full_last = 2};
  OnDamage on_damage = OnDamage::kFallback;
  bool cursor_off = false;  // PlantedFault::kCursorOneBatchOff
};

// A checkpoint that was restored.
struct Restored {
  int64_t step = 0;
  std::string digest;  // CampaignJob::digest afterwards
  std::string path;
  std::vector<std::string> notes;
};

// A trainer and its Saver. Equal options give equal digests. Used by one thread; starts no thread
// while it saves or restores.
class CampaignJob {
 public:
  // Borrows `files`. Aborts if the options are wrong.
  CampaignJob(FileSystem& files, JobOptions options);

  // The newest checkpoint, if there is any. Errors: those of Saver::restore and Trainer::restore.
  absl::StatusOr<std::optional<Restored>> restore();
  // The same without putting anything into the trainer. Returns: whether there is one.
  absl::StatusOr<bool> look();
  // Trains to the last step; `on_saved` is told each checkpoint once it is durable.
  absl::Status train(const std::function<void(int64_t step, const std::string& digest)>& on_saved);
  // Saves the state as it stands through a Saver of its own, which holds its lock until this
  // returns. Errors: those of Saver::save.
  absl::Status save_through(FileSystem& files) const;

  // Of everything that the next step depends on: equal digests are equal states to the last bit.
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
