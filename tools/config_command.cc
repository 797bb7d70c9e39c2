#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "config/config_check.h"
#include "distributed/rank_environment.h"
#include "io/look/data_look.h"
#include "job/checked_job.h"
#include "job/draft/config_draft.h"
#include "job/input_paths.h"
#include "job/job.h"
#include "job/monitor_check.h"
#include "proto/config_durations.h"
#include "proto/config_reader.h"
#include "proto/config_variables.h"
#include "proto/message_differences.h"
#include "tools/commands.h"
#include "tools/config_flags.h"
#include "tools/exit_code.h"
#include "tools/look/look_flags.h"
#include "tools/output/output_file.h"
#include "tools/output/output_kinds.h"
#include "tools/plot/rate_chart.h"
#include "tools/plot/svg_chart.h"

namespace millrace {
namespace {

absl::StatusOr<int> print(const ConfigFlags& flags, bool with_defaults) {
  ASSIGN_OR_RETURN(const RankEnvironment ranks, read_rank_environment());
  ASSIGN_OR_RETURN(const CheckedJob job, load_job(FileSystem::local(), flags, ranks.world_size));
  const JobConfig& config = job.config();
  JobResources resources;
  resources.local_world_size = ranks.local_world_size;
  const absl::StatusOr<std::vector<std::string>> unmade = check_parts(job, resources);
  RETURN_IF_ERROR(name_file(unmade.status(), flags.config));
  for (const std::string& warning : config_warnings(config.train()))
    MILLRACE_LOG(WARNING) << warning;
  std::cout << (with_defaults ? to_text_with_defaults(config) : to_text(config));
  // A comment, so that the output can be read back.
  if (!unmade->empty()) std::cout << "# not checked: " << absl::StrJoin(*unmade, ", ") << "\n";
  std::cout.flush();
  return kExitFinished;
}

struct PlotFlags : ConfigFlags {
  int64_t length = 0;
  std::string output;
};

absl::StatusOr<int> plot(const PlotFlags& flags) {
  FileSystem& files = FileSystem::local();
  RETURN_IF_ERROR(check_extension(flags.output, "SVG", {".svg"}), "--output");
  ASSIGN_OR_RETURN(const CheckedJob job, load_config(files, flags));
  const JobConfig& config = job.config();
  RETURN_IF_ERROR(name_file(check_monitors(config), flags.config));
  RETURN_IF_ERROR(check_output(files, flags.output, chart_kind(),
                               run_inputs(files, flags.config, config.train()), flags.overwrite),
                  "--output");
  ASSIGN_OR_RETURN(const std::vector<Chart> charts, rate_charts(config.train(), flags.length));
  RETURN_IF_ERROR(write_output_file(
      files, flags.output, [&](WritableFile& file) { return file.append(svg_of(charts)); }));
  std::cout << "wrote " << flags.output << "\n";
  std::cout.flush();
  return kExitFinished;
}

struct InitFlags : LookFlags {
  std::string output;  // "": standard output
  bool overwrite = false;
};

// Returns "out/job" for "job.textproto".
std::string output_dir_of(const std::string& config) {
  const std::string stem = std::filesystem::path(config).stem().string();
  return "out/" + (stem.empty() ? std::string("job") : stem);
}

absl::Status check_config_output(FileSystem& files, const InitFlags& flags, const DataLook& look) {
  std::vector<RunInput> inputs;
  for (const FileLook& file : look.train.files) inputs.push_back({"a file of data", file.path});
  if (look.eval) {
    for (const FileLook& file : look.eval->files) inputs.push_back({"a file of --eval", file.path});
  }
  return check_edited_output(files, flags.output, inputs, flags.overwrite);
}

absl::StatusOr<int> init(const InitFlags& flags) {
  FileSystem& files = FileSystem::local();
  ASSIGN_OR_RETURN(const LookOptions options, look_options(flags));
  ASSIGN_OR_RETURN(const DataLook look, look_at_data(files, options));
  ASSIGN_OR_RETURN(const std::string text, draft_config(look, output_dir_of(flags.output)));
  if (flags.output.empty()) {
    std::cout << text << std::flush;
    return kExitFinished;
  }
  RETURN_IF_ERROR(check_config_output(files, flags, look), "--output");
  RETURN_IF_ERROR(write_output_file(files, flags.output,
                                    [&](WritableFile& file) { return file.append(text); }));
  std::cout << "wrote " << flags.output << "\n" << std::flush;
  return kExitFinished;
}

// Reads the configuration of a job for a comparison: a file, or what a run wrote into its output
// directory. The rules are not checked.
absl::StatusOr<JobConfig> read_for_diff(FileSystem& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.info(path);
  const bool is_output = info.ok() && info->is_directory;
  const std::string file = is_output ? join_path(path, "config.textproto") : path;
  if (is_output && !files.info(file).ok()) {
    return absl::NotFoundError(absl::StrCat(
        path,
        " has no config.textproto; name a configuration file, or the output directory of a run"));
  }
  ASSIGN_OR_RETURN(JobConfig config, read_job_config(files, file));
  RETURN_IF_ERROR(name_file(expand_environment(&config), file));
  RETURN_IF_ERROR(name_file(use_durations("", &config), file));
  if (config.has_train()) expand_names(config.mutable_train());
  clear_defaults(config);
  return config;
}

absl::StatusOr<int> diff(const std::vector<std::string>& paths) {
  FileSystem& files = FileSystem::local();
  ASSIGN_OR_RETURN(const JobConfig before, read_for_diff(files, paths[0]));
  ASSIGN_OR_RETURN(const JobConfig now, read_for_diff(files, paths[1]));
  const std::vector<std::string> lines = message_differences(before, now);
  for (const std::string& line : lines) std::cout << line << "\n";
  if (lines.empty()) std::cout << "equal\n";
  std::cout.flush();
  return lines.empty() ? kExitFinished : kExitDifferent;
}

}  // namespace

Command add_config_command(CLI::App& program) {
  auto flags = std::make_shared<ConfigFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("config", "make a configuration, or look at one");
  command->require_subcommand(1);
  CLI::App* check = command->add_subcommand("check", "validate it and print what it comes to");
  CLI::App* defaults =
      command->add_subcommand("defaults", "the same, with every default written out");
  auto plot_flags = std::make_shared<PlotFlags>();  // shared with the parser's callbacks
  CLI::App* rates =
      command->add_subcommand("plot", "draw its learning rates over training, as SVG");
  add_config_flags(*rates, *plot_flags);
  rates->add_option("--output", plot_flags->output, "file to write, such as rates.svg")->required();
  rates
      ->add_option("--length", plot_flags->length,
                   "steps, examples, epochs or windows to draw; by default all of training")
      ->check(CLI::PositiveNumber);
  auto init_flags = std::make_shared<InitFlags>();  // shared with the parser's callbacks
  CLI::App* init_command = command->add_subcommand(
      "init", "write a configuration that trains on files of data, with comments");
  add_look_flags(*init_command, *init_flags);
  init_command->add_option("--output", init_flags->output,
                           "file to write, such as job.textproto [standard output]");
  init_command->add_flag("--overwrite", init_flags->overwrite, "replace the file of --output");
  add_config_flags(*check, *flags);
  add_config_flags(*defaults, *flags);
  auto diff_paths = std::make_shared<std::vector<std::string>>();  // shared as flags
  CLI::App* diff_command = command->add_subcommand(
      "diff", "print the fields in which two configurations differ; exit code 1 if any does");
  diff_command
      ->add_option("configs", *diff_paths, "configuration files, or output directories of runs")
      ->expected(2)
      ->required();
  return [flags, plot_flags, init_flags, diff_paths, defaults, rates, init_command, diff_command] {
    if (init_command->parsed()) return init(*init_flags);
    if (diff_command->parsed()) return diff(*diff_paths);
    return rates->parsed() ? plot(*plot_flags) : print(*flags, defaults->parsed());
  };
}

}  // namespace millrace
