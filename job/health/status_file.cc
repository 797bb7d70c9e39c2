#include "job/health/status_file.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/net/socket.h"
#include "base/status_macros.h"
#include "checkpoint/folder/directory_lock.h"
#include "job/health/health.h"

namespace millrace {
namespace {

std::string utc_text(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

}  // namespace

std::string status_json(const Activity& activity, const StatusFileOptions& options,
                        absl::Time started, absl::Time now) {
  const HealthReport health = check_health(activity, options.limits);
  nlohmann::ordered_json json;
  json["written"] = utc_text(now);
  json["started"] = utc_text(started);
  json["host"] = host_name();
  json["process"] = ::getpid();
  json["interval_seconds"] = absl::ToDoubleSeconds(options.interval);
  json["world_size"] = options.world_size;
  json["step"] = activity.step;
  json["epoch"] = activity.epoch;
  json["window"] = activity.window;
  json["phase"] = std::string(rank_phase_name(activity.phase));
  json["loading"] = activity.loading;
  json["seconds"] = absl::ToDoubleSeconds(activity.exchange.value_or(activity.idle));
  json["exchanges"] = activity.exchange.has_value();
  json["waits_for"] = nlohmann::ordered_json::array();
  for (const PeerActivity& peer : activity.behind) {
    json["waits_for"].push_back({{"rank", peer.rank},
                                 {"phase", std::string(rank_phase_name(peer.phase))},
                                 {"step", peer.step}});
  }
  json["healthy"] = health.healthy;
  json["health"] = health.text;
  return json.dump() + "\n";
}

StatusFile::StatusFile(FileSystem& files, Clock& clock, const RankActivity& activity,
                       StatusFileOptions options)
    : files_(files),
      clock_(clock),
      activity_(activity),
      options_(std::move(options)),
      started_(clock.now()) {}

StatusFile::~StatusFile() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  thread_.join();
  write();
}

void StatusFile::start() {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void StatusFile::run() {
  bool stop = false;
  while (!stop) {
    write();
    MutexLock lock(mutex_);
    stop = mutex_.await_for(options_.interval,
                            [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stop_; });
  }
}

void StatusFile::write() {
  const absl::Status status = try_write();
  if (status.ok() || complained_) return;
  complained_ = true;
  MILLRACE_LOG(WARNING) << "cannot write the status that `millrace status` prints: "
                        << status.message();
}

absl::Status StatusFile::try_write() {
  RETURN_IF_ERROR(check_owner(files_, options_.directory, options_.token));
  const std::string path = join_path(options_.directory, kStatusFile);
  // One name for all processes, so that killed ones leave at most one file.
  const std::string aside = absl::StrCat(path, ".next");
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files_.create(aside));
  RETURN_IF_ERROR(file->append(status_json(activity_.now(), options_, started_, clock_.now())));
  RETURN_IF_ERROR(file->close());
  return files_.rename(aside, path);
}

}  // namespace millrace
