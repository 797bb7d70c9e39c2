#include "hooks/publish_hook.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "hooks/early_stopping_hook.h"
#include "proto/hook_configs.pb.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Checkpoints that wait while one is copied.
constexpr size_t kMostWaiting = 8;
// Windows whose files are remembered until a checkpoint has them.
constexpr size_t kMostWindows = 1000;

constexpr int32_t kPublishVersion = 1;
constexpr char kPublishWhere[] = "[millrace.publish]";

}  // namespace

PublishHook::PublishHook(FileSystem& files, const Clock& clock, std::string folder,
                         PublishRules rules)
    : files_(files), clock_(clock), folder_(std::move(folder)), rules_(std::move(rules)) {}

PublishHook::~PublishHook() { finish(); }

absl::StatusOr<std::unique_ptr<Hook>> PublishHook::create(const HookConfig& config,
                                                          const HookResources& resources) {
  if (resources.published.empty()) {
    return absl::InvalidArgumentError("this program gives the hook no folder to publish to");
  }
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
  finish();
  {
    MutexLock lock(mutex_);
    ending_ = false;
    last_ = absl::OkStatus();
    windows_.clear();
  }
  if (context.rank() != 0 || context.phase() != Phase::kTrain) return absl::OkStatus();
  data_time_ = absl::InfinitePast();
  told_ = false;
  if (rules_.run.empty()) rules_.run = new_nonce();
  auto publisher = std::make_unique<Publisher>(files_, clock_, folder_, rules_);
  RETURN_IF_ERROR(publisher->begin());
  publisher_ = std::move(publisher);
  thread_ = std::thread([this] { run(); });
  return absl::OkStatus();
}

absl::Status PublishHook::before_window(HookContext&, const Window& window) {
  if (!thread_.joinable() || window.files.empty()) return absl::OkStatus();
  MutexLock lock(mutex_);
  windows_.push_back({window.index, window.files});
  if (windows_.size() > kMostWindows) windows_.pop_front();
  return absl::OkStatus();
}

absl::Status PublishHook::after_checkpoint(HookContext&, const CheckpointInfo& checkpoint) {
  if (!thread_.joinable()) return absl::OkStatus();
  MutexLock lock(mutex_);
  queue_.push_back({checkpoint.path, checkpoint.progress.window, ++queued_});
  if (queue_.size() > kMostWaiting) queue_.pop_front();
  return absl::OkStatus();
}

absl::Status PublishHook::end(HookContext&, const absl::Status&) {
  finish();
  MutexLock lock(mutex_);
  return last_;
}

absl::Status PublishHook::save_state(HookState& state) const {
  if (rules_.run.empty()) return absl::OkStatus();
  state.version = kPublishVersion;
  state.bytes = rules_.run;
  return absl::OkStatus();
}

absl::Status PublishHook::load_state(absl::Span<const HookState> per_rank) {
  std::string run;
  for (const HookState& state : per_rank) {
    if (state.empty()) continue;
    if (state.version != kPublishVersion || !is_nonce(state.bytes) || !run.empty()) {
      return absl::InvalidArgumentError(
          "the state of hook publish is damaged or of another version");
    }
    run = state.bytes;
  }
  rules_.run = std::move(run);
  return absl::OkStatus();
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
  int64_t newest = 0;  // that was offered
  for (;;) {
    Candidate candidate;
    {
      MutexLock lock(mutex_);
      auto wanted = [this]()
                        ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return ending_ || !queue_.empty(); };
      mutex_.await(wanted);
      if (queue_.empty()) return;
      candidate = std::move(queue_.back());
      queue_.pop_back();
    }
    const absl::Status status = offer(candidate);
    MutexLock lock(mutex_);
    if (candidate.number > newest) last_ = status;
    newest = std::max(newest, candidate.number);
    // A gate may take the newest for no candidate; then the one before it is tried.
    // What came meanwhile is newer, or the same step saved again, on which deltas rest.
    while (published_ && !queue_.empty() && queue_.front().number < candidate.number) {
      queue_.pop_front();
    }
  }
}

// Returns the time of the newest file of the first `windows` windows; "": not known.
std::string PublishHook::newest_data(int64_t windows) {
  std::vector<std::string> paths;
  {
    MutexLock lock(mutex_);
    while (!windows_.empty() && windows_.front().index < windows) {
      for (std::string& file : windows_.front().files) paths.push_back(std::move(file));
      windows_.pop_front();
    }
  }
  for (const std::string& path : paths) {
    const absl::StatusOr<FileInfo> info = files_.info(path);
    const bool is_known = info.ok() && info->modified != absl::InfiniteFuture();
    if (is_known) data_time_ = std::max(data_time_, info->modified);
  }
  if (data_time_ == absl::InfinitePast()) return "";
  return absl::FormatTime(absl::RFC3339_full, data_time_, absl::UTCTimeZone());
}

absl::Status PublishHook::offer(const Candidate& candidate) {
  const absl::Duration begin = clock_.elapsed();
  PublishOutcome outcome;
  absl::Status status = catch_exceptions("publishing", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(outcome, publisher_->offer(candidate.path, newest_data(candidate.windows)));
    return absl::OkStatus();
  });
  published_ = status.ok() && outcome.kind == PublishOutcome::kPublished;
  if (published_) {
    MILLRACE_LOG(INFO) << "published " << candidate.path << " in " << folder_ << " ("
                       << outcome.copied_bytes << " bytes, " << (clock_.elapsed() - begin) << ")";
    if (!outcome.retention.ok()) {
      MILLRACE_LOG(WARNING) << "publish: old versions stay: " << outcome.retention.message();
    }
  } else if (outcome.kind == PublishOutcome::kRefused) {
    MILLRACE_LOG(WARNING) << "publish: " << candidate.path << " is refused: " << outcome.reason;
  } else if (status.ok() && !rules_.monitor.empty() && !std::exchange(told_, true)) {
    MILLRACE_LOG(INFO) << "publish: " << candidate.path << " has no value of " << rules_.monitor
                       << ": checkpoints whose step is not evaluated are not published";
  } else if (!status.ok()) {
    MILLRACE_LOG(WARNING) << "publish: " << candidate.path
                          << " is not published: " << status.message();
  }
  return status;
}

MILLRACE_REGISTER_HOOK(publish, "publishes checkpoints for servers, if they pass a gate",
                       &PublishHook::create);

}  // namespace millrace
