// Publishes checkpoints for servers.
#ifndef MILLRACE_HOOKS_PUBLISH_HOOK_H_
#define MILLRACE_HOOKS_PUBLISH_HOOK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "checkpoint/published/publisher.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"

namespace millrace {

// Offers checkpoints of training to a Publisher on rank 0. A separate thread copies: training does
// not wait. While one is copied several may be saved: the newest goes next, and those
// before it are left out once it is published. `end` waits until the newest checkpoint is decided.
// With a gate, a checkpoint without an evaluation of its step is no candidate; its rows come with
// the next delta. A checkpoint that cannot be published is a warning, and the next one is tried.
class PublishHook : public Hook {
 public:
  // The name under which the hook is registered.
  static constexpr absl::string_view kName = "publish";

  // Borrows `files` and `clock`.
  PublishHook(FileSystem& files, const Clock& clock, std::string folder, PublishRules rules);
  ~PublishHook() override;

  // Creates the hook from PublishConfig; the folder is HookResources::published.
  // Errors: InvalidArgument naming the field, for a monitor without a direction, a wrong number, or
  // no folder.
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources& resources);

  absl::string_view name() const override { return kName; }
  // Takes the folder on rank 0. Errors: as Publisher::begin().
  absl::Status start(HookContext& context) override;
  absl::Status before_window(HookContext& context, const Window& window) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  // Errors: the error of the newest checkpoint if it could not be published.
  absl::Status end(HookContext& context, const absl::Status& outcome) override;

  // The state is the identity of the run (PublishRules::run), on rank 0.
  absl::Status save_state(HookState& state) const override;
  // Errors: InvalidArgument if the states are damaged or of another version.
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  struct Candidate {
    std::string path;
    int64_t windows = 0;  // that are complete
    int64_t number = 0;   // in the order of saving
  };
  // The files of a window.
  struct WindowFiles {
    int64_t index = 0;
    std::vector<std::string> files;
  };
  void run();
  absl::Status offer(const Candidate& candidate);
  std::string newest_data(int64_t windows);
  void finish();

  FileSystem& files_;
  const Clock& clock_;
  const std::string folder_;
  PublishRules rules_;
  std::unique_ptr<Publisher> publisher_;  // of the thread, while it runs
  Mutex mutex_;
  std::deque<Candidate> queue_ ABSL_GUARDED_BY(mutex_);
  int64_t queued_ ABSL_GUARDED_BY(mutex_) = 0;               // candidates so far
  std::deque<WindowFiles> windows_ ABSL_GUARDED_BY(mutex_);  // of no decided checkpoint yet
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status last_ ABSL_GUARDED_BY(mutex_);    // of the newest checkpoint that was offered
  bool published_ = false;                       // of the thread: the last offer
  bool told_ = false;                            // of the thread: a checkpoint was no candidate
  absl::Time data_time_ = absl::InfinitePast();  // of the thread: newest file of windows
  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_PUBLISH_HOOK_H_
