#include "hooks/publish_hook.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "hooks/early_stopping_hook.h"
#include "proto/hook_configs.pb.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Checkpoints that wait. Beyond them the oldest is left out: the next delta has its rows.
constexpr size_t kMostWaiting = 8;

constexpr char kPublishWhere[] = "[millrace.publish]";

}  // namespace

PublishHook::PublishHook(FileSystem& files, const Clock& clock, std::string folder,
                         PublishRules rules)
    : files_(files), clock_(clock), folder_(std::move(folder)), rules_(std::move(rules)) {}

PublishHook::~PublishHook() { finish(); }

absl::StatusOr<std::unique_ptr<Hook>> PublishHook::create(const HookConfig& config,
                                                          const HookResources& resources) {
  const PublishConfig& own = config.GetExtension(publish);
  RETURN_IF_ERROR(check_ranges(kPublishWhere, own));
  PublishRules rules;
  rules.monitor = own.monitor();
  rules.most_worse = own.most_worse();
  rules.keep_last = own.keep_last();
  if (!own.monitor().empty()) {
    EarlyStoppingConfig monitored;  // has the same rules of direction
    monitored.set_monitor(own.monitor());
    monitored.set_mode(own.mode());
    RETURN_IF_ERROR(check_stopping_monitor(kPublishWhere, monitored));
    rules.higher_is_better = *higher_is_better(monitored);
  }
  return std::make_unique<PublishHook>(resources.files, resources.clock, resources.published,
                                       std::move(rules));
}

absl::Status PublishHook::start(HookContext& context) {
  if (context.rank() != 0 || context.phase() != Phase::kTrain) return absl::OkStatus();
  finish();
  window_times_.clear();
  publisher_ = std::make_unique<Publisher>(files_, clock_, folder_, rules_);
  {
    MutexLock lock(mutex_);
    ending_ = false;
    last_ = absl::OkStatus();
  }
  thread_ = std::thread([this] { run(); });
  return absl::OkStatus();
}

absl::Status PublishHook::before_window(HookContext&, const Window& window) {
  if (!thread_.joinable()) return absl::OkStatus();
  absl::Time newest = absl::InfinitePast();
  for (const std::string& file : window.files) {
    const absl::StatusOr<FileInfo> info = files_.info(file);
    if (info.ok() && info->modified != absl::InfiniteFuture()) {
      newest = std::max(newest, info->modified);
    }
  }
  if (newest != absl::InfinitePast()) window_times_[window.index] = newest;
  return absl::OkStatus();
}

absl::Status PublishHook::after_checkpoint(HookContext&, const CheckpointInfo& checkpoint) {
  if (!thread_.joinable()) return absl::OkStatus();
  Candidate candidate{checkpoint.path, ""};
  // The last window before those that the checkpoint does not have whole.
  const auto next = window_times_.lower_bound(checkpoint.progress.window);
  if (next != window_times_.begin()) {
    candidate.data_time =
        absl::FormatTime(absl::RFC3339_full, std::prev(next)->second, absl::UTCTimeZone());
    window_times_.erase(window_times_.begin(), std::prev(next));
  }
  MutexLock lock(mutex_);
  queue_.push_back(std::move(candidate));
  if (queue_.size() > kMostWaiting) {
    MILLRACE_LOG(WARNING) << "publish: " << queue_.front().path
                          << " is left out, because checkpoints come faster than they are "
                             "copied to "
                          << folder_;
    queue_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status PublishHook::end(HookContext&, const absl::Status&) {
  finish();
  MutexLock lock(mutex_);
  return last_;
}

void PublishHook::finish() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  thread_.join();
  publisher_.reset();  // with the lock of the folder
}

void PublishHook::run() {
  for (;;) {
    Candidate candidate;
    {
      MutexLock lock(mutex_);
      auto wanted = [this]()
                        ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return ending_ || !queue_.empty(); };
      mutex_.await(wanted);
      if (queue_.empty()) return;
      candidate = std::move(queue_.front());
      queue_.pop_front();
    }
    offer(candidate);
  }
}

void PublishHook::offer(const Candidate& candidate) {
  const absl::Duration begin = clock_.elapsed();
  PublishOutcome outcome;
  const absl::Status status = catch_exceptions("publishing", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(outcome, publisher_->offer(candidate.path, candidate.data_time));
    return absl::OkStatus();
  });
  if (!status.ok()) {
    MILLRACE_LOG(WARNING) << "publish: " << candidate.path
                          << " is not published: " << status.message();
  } else if (outcome.kind == PublishOutcome::kPublished) {
    MILLRACE_LOG(INFO) << "published " << candidate.path << " in " << folder_ << " ("
                       << outcome.copied_bytes << " bytes, " << (clock_.elapsed() - begin) << ")";
  } else if (outcome.kind == PublishOutcome::kRefused) {
    MILLRACE_LOG(WARNING) << "publish: " << candidate.path << " is refused: " << outcome.reason;
  }
  MutexLock lock(mutex_);
  last_ = status;
}

MILLRACE_REGISTER_HOOK(publish, "publishes checkpoints for servers, if they pass a gate",
                       &PublishHook::create, OnError::kWarn);

}  // namespace millrace
