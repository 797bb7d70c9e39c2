#include "tools/config_flags.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "job/instruction_set_flag.h"
#include "proto/config_reader.h"
#include "proto/data_windows.h"
#include "tools/device/cuda_devices.h"
#include "tools/device/device_flag.h"

namespace millrace {
namespace {

std::vector<std::string> split_paths(absl::string_view globs) {
  return absl::StrSplit(globs, ',', absl::SkipEmpty());
}

// Validates options of paths. Returns: the error message, or "".
std::string check_paths(const std::string& globs) {
  if (!split_paths(globs).empty()) return "";
  return absl::StrCat("\"", globs, "\" names no file; give PATH[,PATH...]");
}

// Sets paths in place of existing paths, a mix, a registered dataset or windows with their own
// files. Errors: InvalidArgument without a path.
absl::Status set_paths(const std::string& globs, DataConfig* data) {
  const std::string wrong = check_paths(globs);
  if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
  data->clear_path();
  data->clear_mix();
  data->clear_custom_dataset();
  if (finds_own_files(data->windows())) data->clear_windows();
  for (const std::string& glob : split_paths(globs)) data->add_path(glob);
  return absl::OkStatus();
}

absl::Status apply_flags(const ConfigFlags& flags, JobConfig* config) {
  for (const std::string& assignment : flags.set) {
    RETURN_IF_ERROR(apply_override(assignment, config), "--set");
  }
  TrainConfig* train = config->mutable_train();
  if (flags.train_data) {
    RETURN_IF_ERROR(set_paths(*flags.train_data, train->mutable_train_data()),
                    flags.train_data_flag);
    train->clear_generated_data();
  }
  if (flags.eval_data) {
    if (train->eval_data_size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.eval_data_flag,
                       ": the configuration has several evaluation sets; use --set "
                       "train.eval_data[i].data.path=..."));
    }
    if (train->eval_data_size() == 0) train->add_eval_data();
    RETURN_IF_ERROR(set_paths(*flags.eval_data, train->mutable_eval_data(0)->mutable_data()),
                    flags.eval_data_flag);
  }
  if (flags.max_steps) train->set_max_steps(*flags.max_steps);
  if (flags.max_epochs) train->set_max_epochs(*flags.max_epochs);
  if (flags.seed) train->set_seed(*flags.seed);
  if (flags.output_dir) config->mutable_run()->set_output_dir(*flags.output_dir);
  if (flags.resume) config->mutable_run()->set_resume(*flags.resume);
  if (flags.accept_changes) config->mutable_run()->set_accept_changes(true);
  if (flags.threads) config->mutable_run()->set_threads(*flags.threads);
  if (flags.instruction_set) {
    ASSIGN_OR_RETURN(const RunConfig::InstructionSet set,
                     parse_instruction_set(*flags.instruction_set), "--instruction_set");
    config->mutable_run()->set_instruction_set(set);
  }
  if (flags.change) flags.change(config);
  // Finds mistakes early; the command checks again for its own rank.
  ASSIGN_OR_RETURN(const std::optional<int> device,
                   device_of_rank(flags.device, cuda_devices, RankEnvironment()));
  if (!device.has_value() || flags.uses_device) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "--device ", flags.device, ": this command computes on the CPU; use cpu or auto"));
}

}  // namespace

DataNames data_names(const ConfigFlags& flags) {
  DataNames names;
  if (flags.train_data.has_value()) names.train_data = flags.train_data_flag;
  if (flags.eval_data.has_value()) names.eval_data = flags.eval_data_flag;
  return names;
}

std::string check_not_negative(const std::string& text) {
  return absl::StartsWith(text, "-") ? text + " is negative" : "";
}

std::string check_not_empty(const std::string& text) {
  return text.empty() ? "it is empty; name a file, or leave the flag out" : "";
}

void add_paths_flag(CLI::App& command, const std::string& name, std::optional<std::string>& paths,
                    const std::string& description) {
  const auto join = [&paths](const std::vector<std::string>& values) {
    paths = absl::StrJoin(values, ",");
  };
  command.add_option_function<std::vector<std::string>>(name, join, description)
      ->allow_extra_args(false)
      ->check(check_paths);
}

void add_config_flags(CLI::App& command, ConfigFlags& flags) {
  command.add_option("config", flags.config, "configuration file (JobConfig in text format)")
      ->required();
  command.add_option("--set", flags.set, "path.to.field=value; changes one field, repeatable")
      ->allow_extra_args(false);
  add_paths_flag(command, "--train_data", flags.train_data,
                 "comma-separated globs to train on; repeatable");
  add_paths_flag(command, "--eval_data", flags.eval_data,
                 "comma-separated globs to evaluate on; repeatable");
  command.add_option("--output_dir", flags.output_dir, "where to write");
  command.add_option("--max_steps", flags.max_steps,
                     "updates at most, over all resumes; 0: no limit");
  command.add_option("--max_epochs", flags.max_epochs,
                     "epochs at most, over all resumes; 0: no limit");
  command.add_option("--seed", flags.seed, "seed of everything random")->check(check_not_negative);
  command.add_option("--threads", flags.threads, "threads of a step; 0: one per core");
  command.add_option("--instruction_set", flags.instruction_set,
                     "vector instructions of tables: auto, baseline, avx2 or avx512");
  command.add_option("--summary", flags.summary, "file for the summary as JSON")
      ->check(check_not_empty);
  command.add_flag("--overwrite", flags.overwrite,
                   "let outputs replace files of any kind, but not what the run reads");
  command
      .add_option("--device", flags.device,
                  flags.uses_device ? "cpu, auto (the CPU), cuda or cuda:N" : "auto or cpu")
      ->capture_default_str();
}

absl::Status check_config_file(FileSystem& files, const std::string& path, int world_size) {
  const absl::StatusOr<FileInfo> info = files.info(path);
  if (world_size == 1 || !info.ok() || info->kind != FileKind::kOther) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is a pipe, which gives its text to one of ", world_size,
                   " ranks; write the configuration to a file"));
}

absl::Status name_file_of_parts(const absl::Status& status, absl::string_view path) {
  const absl::string_view message = status.message();
  const bool is_of_part = absl::StartsWith(message, "train.model:") ||
                          absl::StartsWith(message, "train.hooks[") ||
                          absl::StartsWith(message, "run.hooks[");
  const bool is_mistake = is_of_part && absl::IsInvalidArgument(status) && !path.empty();
  return is_mistake ? name_file(status, path) : status;
}

namespace {

CheckedJob::Options options_of(const ConfigFlags& flags, CheckedJob::Use use, int64_t ranks) {
  return {.use = use,
          .ranks = ranks,
          .change = [&flags](JobConfig* config) { return apply_flags(flags, config); },
          .data_names = data_names(flags)};
}

}  // namespace

absl::StatusOr<CheckedJob> complete_config(FileSystem& files, const ConfigFlags& flags,
                                           JobConfig config, absl::string_view name) {
  return CheckedJob::check(files, std::move(config), name,
                           options_of(flags, CheckedJob::Use::kModel, /*ranks=*/1));
}

absl::StatusOr<CheckedJob> load_config(FileSystem& files, const ConfigFlags& flags) {
  return CheckedJob::load(files, flags.config,
                          options_of(flags, CheckedJob::Use::kModel, /*ranks=*/1));
}

absl::StatusOr<CheckedJob> load_job(FileSystem& files, const ConfigFlags& flags, int64_t ranks) {
  return CheckedJob::load(files, flags.config,
                          options_of(flags, CheckedJob::Use::kTraining, ranks));
}

}  // namespace millrace
