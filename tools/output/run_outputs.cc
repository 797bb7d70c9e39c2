#include "tools/output/run_outputs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/folder/outside_checkpoints.h"
#include "io/files/glob.h"
#include "proto/inspection_hook_configs.pb.h"
#include "tools/launch/launcher_output.h"
#include "tools/output/output_file.h"
#include "tools/output/output_kinds.h"

namespace millrace {
namespace {

// A pattern of files that a sink or a hook writes.
struct WrittenFiles {
  std::string field;
  std::string pattern;  // below the output directory
};

// Returns the files with known names that sinks and hooks write where the configuration says.
std::vector<WrittenFiles> written_files(const JobConfig& job) {
  std::vector<WrittenFiles> written;
  for (int i = 0; i < job.run().sink_size(); ++i) {
    const SinkConfig& sink = job.run().sink(i);
    if (!sink.has_csv()) continue;
    const std::string directory = literal_pattern(sink.csv().directory());
    const std::string below = sink.ranks() == SinkConfig::ALL ? "rank-*/" : "";
    written.push_back({absl::StrCat("run.sink[", i, "]"),
                       absl::StrCat(directory, "/", below, "{train,eval}.csv")});
  }
  const auto add_hooks = [&](const char* part, const auto& hooks) {
    for (int i = 0; i < hooks.size(); ++i) {
      const std::string field = absl::StrCat(part, ".hooks[", i, "]");
      if (hooks[i].name() == "mllog") {
        written.push_back({field, literal_pattern(hooks[i].GetExtension(mllog).file())});
      } else if (hooks[i].name() == "embedding_projector") {
        const std::string& directory = hooks[i].GetExtension(embedding_projector).directory();
        written.push_back(
            {field, absl::StrCat(literal_pattern(directory), "/{,rank-*/}projector_*")});
      }
    }
  };
  add_hooks("train", job.train().hooks());
  add_hooks("run", job.run().hooks());
  return written;
}

}  // namespace

std::vector<RunInput> run_outputs(const RunConfig& config) {
  std::vector<RunInput> outputs;
  for (const char* name :
       {"config.textproto", "events.jsonl", "status.json", "windows.jsonl", "lock",
        "checkpoints/lock", "metrics/train.jsonl", "metrics/eval.jsonl", "logs/rank-0.log"}) {
    outputs.push_back({"a file that the run itself writes", join_path(config.output_dir(), name)});
  }
  return outputs;
}

absl::Status check_written_files(FileSystem& files, const std::string& config_path,
                                 const JobConfig& job) {
  const std::string directory = literal_pattern(job.run().output_dir());
  std::vector<RunInput> inputs;  // listed once a file exists
  for (const WrittenFiles& written : written_files(job)) {
    const auto paths = files.glob(join_path(directory, written.pattern));
    if (!paths.ok()) continue;  // reported by the hook or sink
    for (const std::string& path : *paths) {
      if (inputs.empty()) inputs = run_inputs(files, config_path, job.train());
      RETURN_IF_ERROR(check_not_input(files, path, inputs), written.field);
    }
  }
  return absl::OkStatus();
}

namespace {

constexpr size_t kNamedFiles = 3;

// Returns true if nothing can be lost: an empty file, such as the lock of a run that was killed at
// its beginning, or a directory with only such files.
bool is_empty(FileSystem& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.link_info(path);
  if (!info.ok()) return false;
  if (info->kind == FileKind::kRegular) return info->size_bytes == 0;
  const auto entries = files.list(path);
  return info->kind == FileKind::kDirectory && entries.ok() &&
         std::all_of(entries->begin(), entries->end(), [&](const DirectoryEntry& entry) {
           return is_empty(files, join_path(path, entry.name));
         });
}

// Returns true for output as in `millrace train ... > OUTPUT_DIR/log`, also under `millrace
// launch`.
bool is_own_output(const std::string& path) {
  return is_same_file(path, "/dev/stdout") || is_same_file(path, "/dev/stderr") ||
         is_launcher_output(path);
}

// Returns true for a link to an empty directory, such as one on a larger disk.
bool is_link_to_empty(FileSystem& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.info(path);
  if (!info.ok() || info->kind != FileKind::kDirectory) return false;
  const auto entries = files.list(path);
  return entries.ok() && entries->empty();
}

bool is_foreign(FileSystem& files, const std::string& directory, const DirectoryEntry& entry) {
  const std::string path = join_path(directory, entry.name);
  if (entry.name == "checkpoints" && is_link_to_empty(files, path)) return false;
  // The root of a disk has a directory of the system.
  if (entry.name == "lost+found" || is_empty(files, path) || is_own_output(path)) return false;
  return entry.kind != FileKind::kRegular || !summary_kind().matches(files, path);
}

}  // namespace

bool is_run_directory(FileSystem& files, const std::string& directory) {
  return is_directory_lock(files, join_path(directory, "lock")) ||
         has_checkpoint(files, join_path(directory, "checkpoints"));
}

absl::Status check_run_directory(FileSystem& files, const std::string& directory, bool overwrite) {
  // The lock of a folder of checkpoints would look like the lock of a run.
  RETURN_IF_ERROR(check_outside_checkpoints(files, directory), "output_dir");
  const auto entries = files.list(directory);
  // A directory that cannot be listed is missing, or check_output_directory reports the problem.
  if (overwrite || !entries.ok() || is_run_directory(files, directory)) return absl::OkStatus();
  std::vector<std::string> foreign;
  size_t looked_at = 0;
  for (const DirectoryEntry& entry : *entries) {
    if (foreign.size() == kNamedFiles) break;
    ++looked_at;
    if (is_foreign(files, directory, entry)) foreign.push_back(join_path(directory, entry.name));
  }
  if (foreign.empty()) return absl::OkStatus();
  const size_t more = entries->size() - looked_at;
  return absl::PermissionDeniedError(absl::StrCat(
      "cannot write to output_dir ", directory, ": it is no run's, and holds ",
      absl::StrJoin(foreign, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "",
      "; choose another with --output_dir, or use this one with --overwrite"));
}

}  // namespace millrace
