#include "hooks/example_trace_hook.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/lines/file_lines.h"
#include "base/status_macros.h"
#include "framework/report/directory_check.h"
#include "proto/hook_configs.pb.h"

namespace millrace {
namespace {

constexpr char kPrefix[] = "from-";
constexpr char kSuffix[] = ".jsonl";
constexpr char kLineBegin[] = "{\"step\":";

// Returns the step in a file name; -1: not a file of this hook.
int64_t begin_of(absl::string_view name) {
  int64_t step = -1;
  if (!absl::StartsWith(name, kPrefix) || !absl::EndsWith(name, kSuffix)) return -1;
  name.remove_prefix(sizeof(kPrefix) - 1);
  name.remove_suffix(sizeof(kSuffix) - 1);
  return absl::SimpleAtoi(name, &step) ? step : -1;
}

// Returns the step of a line; -1: not a line of this hook.
int64_t step_of(absl::string_view line) {
  int64_t step = -1;
  if (!absl::ConsumePrefix(&line, kLineBegin)) return -1;
  return absl::SimpleAtoi(line.substr(0, line.find(',')), &step) ? step : -1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Hook>> ExampleTraceHook::create(const HookConfig& config,
                                                               const HookResources& resources) {
  const std::string& directory = config.GetExtension(example_trace).directory();
  RETURN_IF_ERROR(check_directory("[millrace.example_trace]", directory));
  return std::make_unique<ExampleTraceHook>(resources.files,
                                            join_path(resources.output_dir, directory));
}

absl::Status ExampleTraceHook::start(HookContext& context) {
  begins_at_ = last_step_ = context.progress().step;
  window_ = context.progress().window;
  ids_.clear();
  return context.phase() == Phase::kTrain ? remove_repeated(context) : absl::OkStatus();
}

// Also for a run that makes no step: nothing may remain of steps that are no longer in a
// checkpoint.
absl::Status ExampleTraceHook::remove_repeated(const HookContext& context) {
  const absl::Status own = remove_from(directory_of(context.rank()), begins_at_);
  if (!absl::IsNotFound(own)) RETURN_IF_ERROR(own);
  // There may have been more ranks.
  for (int other = context.rank() + context.world_size();; other += context.world_size()) {
    const absl::Status status = remove_from(directory_of(other), begins_at_);
    if (absl::IsNotFound(status)) return absl::OkStatus();
    RETURN_IF_ERROR(status);
  }
}

absl::Status ExampleTraceHook::before_window(HookContext& context, const Window& window) {
  if (context.phase() == Phase::kTrain) window_ = window.index;
  return absl::OkStatus();
}

absl::Status ExampleTraceHook::after_data(HookContext& context, const Batch& batch, int64_t) {
  if (context.phase() != Phase::kTrain || batch.size == 0 || !batch.example_ids.defined()) {
    return absl::OkStatus();
  }
  const int64_t* ids = batch.example_ids.const_data_ptr<int64_t>();
  ids_.insert(ids_.end(), ids, ids + batch.size);
  return absl::OkStatus();
}

absl::Status ExampleTraceHook::after_step(HookContext& context, const StepResult& result) {
  if (context.phase() != Phase::kTrain) return absl::OkStatus();
  const std::vector<int64_t> ids = std::exchange(ids_, {});
  last_step_ = context.progress().step;
  if (!result.applied) return absl::OkStatus();
  if (file_ == nullptr) RETURN_IF_ERROR(open(context.rank()));
  const Progress& progress = context.progress();
  // A single write per line, so that a killed process leaves whole lines.
  return file_->append(absl::StrCat(kLineBegin, progress.step, ",\"epoch\":", progress.epoch,
                                    ",\"window\":", window_, ",\"ids\":[", absl::StrJoin(ids, ","),
                                    "]}\n"));
}

// Removes files from step `begin` on, since the run repeats these steps. Removes from the file
// before them the lines of these steps, and lines that a crash left incomplete.
absl::Status ExampleTraceHook::remove_from(const std::string& directory, int64_t begin) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files_.list(directory));
  std::string before;
  int64_t before_begin = -1;
  for (const DirectoryEntry& entry : entries) {
    const int64_t first = begin_of(entry.name);
    if (first >= begin) {
      RETURN_IF_ERROR(files_.remove(join_path(directory, entry.name)));
    } else if (first > before_begin) {
      before = join_path(directory, entry.name);
      before_begin = first;
    }
  }
  if (before.empty()) return absl::OkStatus();
  return rewrite_lines(files_, before, {},
                       [begin](std::string& line) {
                         const int64_t step = step_of(line);
                         return step >= 0 && step <= begin;
                       })
      .status();
}

std::string ExampleTraceHook::directory_of(int rank) const {
  return join_path(directory_, absl::StrCat("rank-", rank));
}

absl::Status ExampleTraceHook::open(int rank) {
  const std::string directory = directory_of(rank);
  RETURN_IF_ERROR(files_.create_directories(directory));
  const std::string name = absl::StrFormat("%s%08d%s", kPrefix, begins_at_, kSuffix);
  path_ = join_path(directory, name);
  ASSIGN_OR_RETURN(file_, files_.create(path_));
  return files_.sync_directory(directory);
}

// The checkpoint recreates a removed directory.
absl::Status ExampleTraceHook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  if (file_ == nullptr || !absl::IsNotFound(files_.link_info(path_).status())) {
    return absl::OkStatus();
  }
  file_.reset();
  begins_at_ = last_step_;
  return absl::OkStatus();
}

absl::Status ExampleTraceHook::save_state(HookState&) const {
  return file_ == nullptr ? absl::OkStatus() : file_->sync();
}

absl::Status ExampleTraceHook::end(HookContext&, const absl::Status&) {
  if (file_ == nullptr) return absl::OkStatus();
  absl::Status status = file_->sync();
  status.Update(file_->close());
  file_.reset();
  return status;
}

MILLRACE_REGISTER_HOOK(example_trace, "writes the ids of the examples of each step",
                       &ExampleTraceHook::create);

}  // namespace millrace
