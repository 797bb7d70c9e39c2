#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "distributed/rank_environment.h"
#include "job/monitor_check.h"
#include "proto/config_reader.h"
#include "tools/commands.h"
#include "tools/config_flags.h"
#include "tools/exit_code.h"
#include "tools/output/output_file.h"
#include "tools/output/output_kinds.h"
#include "tools/output/run_inputs.h"
#include "tools/plot/rate_chart.h"
#include "tools/plot/svg_chart.h"

namespace millrace {
namespace {

absl::StatusOr<int> print(const ConfigFlags& flags, bool with_defaults) {
  ASSIGN_OR_RETURN(const RankEnvironment ranks, read_rank_environment());
  ASSIGN_OR_RETURN(const JobConfig config, load_job(FileSystem::local(), flags, ranks.world_size));
  std::cout << (with_defaults ? to_text_with_defaults(config) : to_text(config));
  std::cout.flush();
  return kExitFinished;
}

struct PlotFlags : ConfigFlags {
  int64_t length = 0;
  std::string output;
};

absl::StatusOr<int> plot(const PlotFlags& flags) {
  FileSystem& files = FileSystem::local();
  ASSIGN_OR_RETURN(const JobConfig config, load_config(files, flags));
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

}  // namespace

Command add_config_command(CLI::App& program) {
  auto flags = std::make_shared<ConfigFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("config", "look at a configuration");
  command->require_subcommand(1);
  CLI::App* check = command->add_subcommand("check", "validate it and print what it comes to");
  CLI::App* defaults =
      command->add_subcommand("defaults", "the same, with every default written out");
  auto plot_flags = std::make_shared<PlotFlags>();  // likewise
  CLI::App* rates =
      command->add_subcommand("plot", "draw its learning rates over training, as SVG");
  add_config_flags(*rates, *plot_flags);
  rates->add_option("--output", plot_flags->output, "file to write, such as rates.svg")->required();
  rates
      ->add_option("--length", plot_flags->length,
                   "steps, examples, epochs or windows to draw; by default all of training")
      ->check(CLI::PositiveNumber);
  add_config_flags(*check, *flags);
  add_config_flags(*defaults, *flags);
  return [flags, plot_flags, defaults, rates] {
    return rates->parsed() ? plot(*plot_flags) : print(*flags, defaults->parsed());
  };
}

}  // namespace millrace
