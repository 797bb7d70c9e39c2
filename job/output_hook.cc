#include "job/output_hook.h"

#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/format/checkpoint_names.h"
#include "distributed/environment/checkpoint_notice.h"
#include "framework/report/report_rows.h"
#include "job/job_checkpoints.h"
#include "job/output_place.h"
#include "proto/config_reader.h"
#include "sinks/configured_sinks.h"

namespace millrace {
namespace {

// Returns the path, or the nearest existing path above, possibly a dangling link.
std::string nearest_existing(FileSystem& files, std::string path) {
  while (!files.link_info(path).ok()) {
    const size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    if (slash == 0) return "/";
    path.resize(slash);
  }
  return path;
}

constexpr char kAnother[] = "choose another with --output_dir";

absl::Status refuse(absl::string_view output_dir, absl::string_view path, absl::string_view what,
                    absl::string_view advice = kAnother) {
  return absl::PermissionDeniedError(absl::StrCat("cannot write to output_dir ", output_dir, ": ",
                                                  path, " is ", what, "; ", advice));
}

// Makes OUTPUT_DIR/NAME a link to the directory `place`. Another rank may do the same. Errors:
// PermissionDenied if the name is taken; write errors.
absl::Status link_place(FileSystem& files, const std::string& output_dir, const char* name,
                        const std::string& place) {
  if (place.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(files.create_directories(output_dir));
  RETURN_IF_ERROR(files.create_directories(place));
  const std::string path = join_path(output_dir, name);
  std::error_code error;
  std::filesystem::create_directory_symlink(absolute_path(place), path, error);
  if (std::filesystem::equivalent(path, place, error)) return absl::OkStatus();
  return refuse(output_dir, path, absl::StrCat("not the directory ", place),
                absl::StrCat("move it away or change run.places.", name));
}

// Checks that no file replaces a directory of the run or the reverse, and that the files of the run
// are writable. `has_place`: if true, the checkpoints are elsewhere, and a file names their folder.
absl::Status check_content(FileSystem& files, const std::string& directory, bool has_place) {
  for (const char* name : {"logs", "metrics", "checkpoints", "checkpoints/lock", "lock",
                           "config.textproto", "events.jsonl", "summary.json", kStatusFile}) {
    const std::string path = join_path(directory, name);
    const absl::StatusOr<FileInfo> info = files.info(path);
    if (!info.ok()) {
      if (files.link_info(path).ok()) return refuse(directory, path, "a link to nothing");
      continue;
    }
    const bool is_lock = base_name(path) == "lock";
    const bool is_place = has_place && std::strcmp(name, kCheckpointsFolder) == 0;
    const bool directory_is_due = !is_lock && !is_place && std::strchr(name, '.') == nullptr;
    if (info->is_directory != directory_is_due) {
      return refuse(directory, path, directory_is_due ? "no directory" : "a directory",
                    is_place ? "move it away or change run.places.checkpoints" : kAnother);
    }
    // Other files are replaced.
    const bool matters = directory_is_due || is_lock || base_name(path) == "events.jsonl";
    if (matters && !writable(path, directory_is_due)) {
      return refuse(directory, path, "not writable");
    }
  }
  return absl::OkStatus();
}

// Checks that `directory` and files inside can be created.
absl::Status check_directory(FileSystem& files, const std::string& output_dir,
                             const std::string& directory, absl::string_view advice = kAnother) {
  const std::string existing = nearest_existing(files, directory);
  const auto refuse_it = [&](const char* what) {
    return refuse(output_dir, existing, what, advice);
  };
  const absl::StatusOr<FileInfo> info = files.info(existing);
  if (absl::IsNotFound(info.status())) return refuse_it("a link to nothing");
  RETURN_IF_ERROR(info.status());
  if (!info->is_directory) return refuse_it("no directory");
  return writable(existing, /*is_directory=*/true) ? absl::OkStatus() : refuse_it("not writable");
}

}  // namespace

absl::Status check_output_directory(FileSystem& files, const RunConfig& run) {
  const std::string& output_dir = run.output_dir();
  RETURN_IF_ERROR(check_directory(files, output_dir, output_dir));
  if (!files.info(output_dir).ok()) return absl::OkStatus();
  const bool has_place = !run.places().checkpoints().empty();
  RETURN_IF_ERROR(check_content(files, output_dir, has_place));
  const std::string named = checkpoints_of(files, output_dir);
  const std::string own = absolute_path(checkpoint_folder(run));
  if (has_place && named != join_path(output_dir, kCheckpointsFolder) && named != own) {
    return refuse(output_dir, join_path(output_dir, kCheckpointsFolder),
                  absl::StrCat("the name of another place, ", named),
                  "go back to that place, or choose another output_dir");
  }
  for (const std::string& directory : sink_directories(run)) {
    RETURN_IF_ERROR(check_directory(files, output_dir, join_path(output_dir, directory),
                                    "choose another with --output_dir, or remove the sink or set "
                                    "its directory in run.sink"));
  }
  return absl::OkStatus();
}

absl::Status open_run_log(FileSystem& files, const RunConfig& run, int rank) {
  const std::string folder = join_path(run.output_dir(), "logs");
  RETURN_IF_ERROR(link_place(files, run.output_dir(), "logs", run.places().logs()));
  RETURN_IF_ERROR(link_place(files, run.output_dir(), kRowsDirectory, run.places().metrics()));
  RETURN_IF_ERROR(files.create_directories(folder));
  const std::string log = join_path(folder, absl::StrCat("rank-", rank, ".log"));
  if (log_to_file(log)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("cannot write ", log));
}

void OutputHook::note_progress(const HookContext& context) {
  if (activity_ != nullptr) activity_->set_progress(context.progress());
}

absl::Status OutputHook::start(HookContext& context) {
  note_progress(context);
  made_ = false;
  saved_.clear();
  return check_output_directory(files_, config_.run());
}

absl::Status OutputHook::before_step(HookContext& context) {
  return made_ ? absl::OkStatus() : make(context);
}

absl::Status OutputHook::after_window(HookContext& context, const Window&) {
  note_progress(context);
  return absl::OkStatus();
}

absl::Status OutputHook::after_epoch(HookContext& context) {
  note_progress(context);
  return absl::OkStatus();
}

absl::Status OutputHook::make(const HookContext& context) {
  made_ = true;
  RETURN_IF_ERROR(open_run_log(files_, config_.run(), context.rank()));
  if (context.rank() == 0) RETURN_IF_ERROR(write_config());
  if (events_ != nullptr) events_->open();
  if (context.rank() == 0 && status_ != nullptr) status_->start();
  return absl::OkStatus();
}

absl::Status OutputHook::after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) {
  // A run without a step has output if it saves, such as the end of the job.
  if (!made_) RETURN_IF_ERROR(make(context));
  // The checkpoint recreated a directory that was removed. Invariant: training continues without a
  // log.
  const absl::Status opened = open_run_log(files_, config_.run(), context.rank());
  if (!opened.ok() && !log_failed_) MILLRACE_LOG(WARNING) << opened.message();
  log_failed_ = !opened.ok();
  if (context.rank() != 0) return absl::OkStatus();
  notify_launcher_of_checkpoint(process_variable, checkpoint.progress.step);
  // The last save of a run adds the results of evaluations to the save before them.
  if (saved_ != checkpoint.path) MILLRACE_LOG(INFO) << "saved " << checkpoint.path;
  saved_ = checkpoint.path;
  if (events_ != nullptr) events_->open();
  const std::string config = join_path(config_.run().output_dir(), "config.textproto");
  const bool removed = absl::IsNotFound(files_.link_info(config).status());
  return removed ? write_config() : absl::OkStatus();
}

absl::Status OutputHook::write_config() const {
  const std::string& directory = config_.run().output_dir();
  if (!config_.run().places().checkpoints().empty()) {
    RETURN_IF_ERROR(
        write_file_atomically(files_, join_path(directory, kCheckpointsFolder),
                              absl::StrCat(absolute_path(checkpoint_folder(config_.run())), "\n")));
  }
  RETURN_IF_ERROR(
      write_file_atomically(files_, join_path(directory, "config.textproto"), to_text(config_)));
  // The summary of an earlier run does not describe this run.
  const std::string summary = join_path(directory, "summary.json");
  const absl::Status removed = files_.remove(summary);
  if (!removed.ok() && files_.info(summary).ok()) return removed;
  return absl::OkStatus();
}

}  // namespace millrace
