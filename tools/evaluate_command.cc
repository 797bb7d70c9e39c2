#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "io/uri_file_system.h"
#include "tools/commands.h"
#include "tools/config_flags.h"
#include "tools/job.h"
#include "tools/job_checkpoints.h"
#include "tools/ranks.h"
#include "tools/run_inputs.h"
#include "tools/summary_file.h"

namespace millrace {
namespace {

struct EvaluateFlags : ConfigFlags {
  std::string checkpoint;
};

// The sets' metrics, on rank 0 also for people.
absl::Status evaluate_sets(const JobConfig& config, Trainer& trainer, bool print,
                           Summary* summary) {
  for (const EvaluationSetConfig& set : config.train().eval_data()) {
    if (set.data().has_windows()) continue;  // see build_evaluator
    ASSIGN_OR_RETURN(const EvaluationResult result, trainer.evaluate(set.name()));
    summary->rows = trainer.summary().rows;
    summary->eval[set.name()] = result.metrics;
    if (!print) continue;
    std::cout << set.name() << ":";
    for (const auto& [name, value] : result.metrics) {
      std::cout << absl::StrFormat("  %s %.5f", name, value);
    }
    std::cout << "  examples " << result.examples << std::endl;
  }
  return absl::OkStatus();
}

absl::Status evaluate(const EvaluateFlags& flags, const RankEnvironment& ranks,
                      const RankListener& listener, FileSystem& files, SummaryFile& summary_file,
                      Summary* summary) {
  RETURN_IF_ERROR(summary_file.check());
  RETURN_IF_ERROR(check_config_file(files, flags.config, ranks.world_size));
  ASSIGN_OR_RETURN(const JobConfig config, load_config(files, flags));
  RETURN_IF_ERROR(
      summary_file.check_inputs([&] { return run_inputs(files, flags.config, config.train()); }));
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives, join_ranks(ranks, config, listener));
  RETURN_IF_ERROR(on_rank_0(*collectives, [&] {
    return make_generated_data(files, config.train(), flags.overwrite).status();
  }));
  JobResources resources;
  resources.log = &std::cerr;
  resources.local_world_size = ranks.local_world_size;
  DataReport data;
  resources.data = &data;
  Collectives& others = *collectives;  // the trainer's from here on
  ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer,
                   build_evaluator(config, resources, std::move(collectives)));
  const absl::StatusOr<LoadedModel> loaded =
      load_model(config.train(), files, flags.checkpoint, *trainer, ranks.rank == 0);
  if (!loaded.ok()) {
    const absl::Status status = annotate(loaded.status(), "--checkpoint");
    others.fail(status);
    return status;
  }
  summary->checkpoint = loaded->path;
  summary->progress = loaded->progress;
  RETURN_IF_ERROR(evaluate_sets(config, *trainer, ranks.rank == 0, summary));
  return absl::OkStatus();
}

absl::StatusOr<int> run(const EvaluateFlags& flags, const RankListener& listener) {
  FileSystem& files = UriFileSystem::process();
  ASSIGN_OR_RETURN(const RankEnvironment ranks, read_rank_environment());
  Summary summary;
  SummaryFile file(files, ranks.rank == 0 ? flags.summary : "", flags.overwrite);
  const absl::Status status = evaluate(flags, ranks, listener, files, file, &summary);
  return file.end_command(summary, status);
}

}  // namespace

Command add_evaluate_command(CLI::App& program, const RankListener& listener) {
  auto flags = std::make_shared<EvaluateFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("evaluate", "compute metrics of a trained model");
  add_config_flags(*command, *flags);
  command
      ->add_option("--checkpoint", flags->checkpoint,
                   "checkpoint, folder of them, or output directory of a training run")
      ->required();
  return [flags, listener] { return run(*flags, listener); };
}

}  // namespace millrace
