#include "tools/output_hook.h"

#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

// The path itself, or the nearest directory above it that exists.
std::string nearest_existing(FileSystem& files, std::string path) {
  while (!files.info(path).ok()) {
    const size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    if (slash == 0) return "/";
    path.resize(slash);
  }
  return path;
}

// What a run writes must not meet a file where a directory is due or the reverse.
absl::Status check_content(FileSystem& files, const std::string& directory) {
  for (const char* name :
       {"logs", "metrics", "checkpoints", "config.textproto", "events.jsonl", "summary.json"}) {
    const std::string path = join_path(directory, name);
    const absl::StatusOr<FileInfo> info = files.info(path);
    const bool directory_is_due = std::strchr(name, '.') == nullptr;
    if (!info.ok() || info->is_directory == directory_is_due) continue;
    return absl::PermissionDeniedError(absl::StrCat(
        "cannot write to output_dir: ", path, " is ",
        directory_is_due ? "no directory" : "a directory", "; choose another with --output_dir"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_output_directory(FileSystem& files, const RunConfig& run) {
  const std::string& wanted = run.output_dir();
  const std::string existing = nearest_existing(files, wanted);
  ASSIGN_OR_RETURN(const FileInfo info, files.info(existing));
  if (!info.is_directory || ::access(existing.c_str(), W_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write to output_dir ", wanted, ": ", existing,
                     info.is_directory ? " is not writable" : " is no directory",
                     "; choose another with --output_dir"));
  }
  return existing == wanted ? check_content(files, wanted) : absl::OkStatus();
}

absl::Status OutputHook::start(HookContext&) {
  made_ = false;
  return check_output_directory(files_, config_.run());
}

absl::Status OutputHook::before_step(HookContext& context) {
  if (made_) return absl::OkStatus();
  made_ = true;
  // By whichever rank comes first.
  RETURN_IF_ERROR(files_.create_directories(join_path(config_.run().output_dir(), "logs")));
  if (context.rank() == 0) RETURN_IF_ERROR(write_config());
  if (events_ != nullptr) events_->open();
  const std::string log =
      join_path(config_.run().output_dir(), absl::StrCat("logs/rank-", context.rank(), ".log"));
  if (!log_to_file(log)) return absl::PermissionDeniedError(absl::StrCat("cannot write ", log));
  return absl::OkStatus();
}

absl::Status OutputHook::write_config() const {
  const std::string& directory = config_.run().output_dir();
  RETURN_IF_ERROR(
      write_file_atomically(files_, join_path(directory, "config.textproto"), to_text(config_)));
  // What an older run left here says nothing about this one.
  const std::string summary = join_path(directory, "summary.json");
  const absl::Status removed = files_.remove(summary);
  if (!removed.ok() && files_.info(summary).ok()) return removed;
  return absl::OkStatus();
}

}  // namespace millrace
