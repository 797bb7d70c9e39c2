#include "checkpoint/state/background_save.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "base/catch_exceptions.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int kNiceness = 10;

// Lowers the priority of this thread and of the threads started later. Ignores a failure, which
// changes no result.
void lower_priority() {
  const auto thread = static_cast<id_t>(gettid());
  if (getpriority(PRIO_PROCESS, thread) < kNiceness) setpriority(PRIO_PROCESS, thread, kNiceness);
}

}  // namespace

BackgroundSave::BackgroundSave(SaveWork work, int threads)
    : work_(std::move(work)), part_(std::string()), thread_([this, threads] { run(threads); }) {}

BackgroundSave::~BackgroundSave() {
  {
    MutexLock lock(mutex_);
    mutex_.await([this] { return is_ready(stage_); });
    if (stage_ == Stage::kWritten) stage_ = Stage::kAbandoned;
  }
  thread_.join();
}

void BackgroundSave::enter(Stage stage) {
  MutexLock lock(mutex_);
  stage_ = stage;
}

void BackgroundSave::run(int threads) {
  lower_priority();
  ThreadPool pool(threads);
  const absl::Status copied = catch_exceptions([&] { return work_.copy(pool); });
  work_.copy = nullptr;
  enter(Stage::kSyncing);
  absl::StatusOr<std::string> part =
      copied.ok() ? catch_exceptions([&] { return work_.sync(pool); }) : copied;
  std::vector<std::string> parts;
  {
    MutexLock lock(mutex_);
    part_ = std::move(part);
    stage_ = Stage::kWritten;
    mutex_.await([this] { return stage_ > Stage::kWritten; });
    if (stage_ == Stage::kAbandoned) return;
    parts = std::move(parts_);
  }
  absl::Status outcome = catch_exceptions([&] { return work_.commit(parts, pool); });
  MutexLock lock(mutex_);
  outcome_ = std::move(outcome);
  stage_ = Stage::kDone;
}

bool BackgroundSave::ready() const {
  MutexLock lock(mutex_);
  return is_ready(stage_);
}

bool BackgroundSave::await_ready(absl::Duration limit) const {
  MutexLock lock(mutex_);
  return mutex_.await_for(limit, [this] { return is_ready(stage_); });
}

bool BackgroundSave::await_copied(absl::Duration limit) const {
  MutexLock lock(mutex_);
  return mutex_.await_for(limit, [this] { return stage_ > Stage::kCopying; });
}

absl::StatusOr<std::string> BackgroundSave::part() const {
  MutexLock lock(mutex_);
  return part_;
}

void BackgroundSave::commit(std::vector<std::string> parts) {
  MutexLock lock(mutex_);
  parts_ = std::move(parts);
  stage_ = Stage::kCommitting;
}

bool BackgroundSave::committing() const {
  MutexLock lock(mutex_);
  return stage_ > Stage::kWritten;
}

absl::Status BackgroundSave::outcome() const {
  MutexLock lock(mutex_);
  return outcome_;
}

}  // namespace millrace
