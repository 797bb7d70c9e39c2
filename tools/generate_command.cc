#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "job/generate/generator.h"
#include "tools/commands.h"
#include "tools/config_flags.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

struct GenerateFlags {
  GenerateOptions options;
  std::string format = "parquet";
};

absl::StatusOr<int> run_generate(const GenerateFlags& flags) {
  GenerateOptions options = flags.options;
  ASSIGN_OR_RETURN(options.format, parse_columnar_format(flags.format), "--format");
  ASSIGN_OR_RETURN(const GenerateResult result, generate(FileSystem::local(), options));
  for (const std::string& path : result.train_paths) std::cout << path << "\n";
  if (!result.eval_path.empty()) std::cout << result.eval_path << "\n";
  std::cout << absl::StrFormat("%d examples to train on, %.2f %% positive; %d to evaluate on\n",
                               options.rows,
                               100.0 * static_cast<double>(result.positives) /
                                   static_cast<double>(options.rows),
                               options.eval_rows)
            << absl::StrFormat("best possible on the evaluation examples: auc %.5f, logloss %.5f\n",
                               result.best_auc, result.best_logloss);
  std::cout.flush();
  return kExitFinished;
}

}  // namespace

Command add_generate_command(CLI::App& program) {
  auto flags = std::make_shared<GenerateFlags>();  // shared with the parser's callbacks
  GenerateOptions& options = flags->options;
  CLI::App* command = program.add_subcommand(
      "generate", "write Criteo-shaped examples of a planted model whose best AUC is known");
  command->add_option("--output_dir", options.output_dir, "where to write")->required();
  command->add_option("--rows", options.rows, "examples to train on")->capture_default_str();
  command->add_option("--eval_rows", options.eval_rows, "examples to evaluate on")
      ->capture_default_str();
  command->add_option("--files", options.files, "files of training examples")
      ->capture_default_str();
  command->add_flag("--overwrite", options.overwrite, "replace files that were not generated");
  command->add_option("--format", flags->format, "parquet or orc")->capture_default_str();
  command->add_option("--seed", options.model.seed, "of the planted model and the examples")
      ->check(check_not_negative)
      ->capture_default_str();
  return [flags] { return run_generate(*flags); };
}

}  // namespace millrace
