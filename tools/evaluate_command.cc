#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hooks/metric_text.h"
#include "io/files/uri_file_system.h"
#include "job/generated_data.h"
#include "job/job.h"
#include "job/job_checkpoints.h"
#include "job/ranks.h"
#include "tools/command_end.h"
#include "tools/commands.h"
#include "tools/config_flags.h"
#include "tools/output/run_inputs.h"
#include "tools/output/summary_file.h"
#include "tools/terminal.h"
#include "tools/weights_flag.h"

namespace millrace {
namespace {

struct EvaluateFlags : ConfigFlags {
  std::string checkpoint;
  std::string weights;  // see add_weights_flag
};

class EvaluateCommand {
 public:
  EvaluateCommand(const EvaluateFlags& flags, const RankListener& listener)
      : flags_(flags), listener_(listener) {}

  absl::StatusOr<int> run() {
    ASSIGN_OR_RETURN(ranks_, read_rank_environment());
    SummaryFile file(files_, is_first() ? flags_.summary : "", flags_.overwrite);
    const absl::Status status = evaluate(file);
    const absl::StatusOr<int> outcome = file.end_command(summary_, status);
    end_if_data_hangs(trainer_.get(), outcome);
    return outcome;
  }

 private:
  // Whether this rank writes what all have in common.
  bool is_first() const { return ranks_.rank == 0; }

  absl::Status evaluate(SummaryFile& summary_file) {
    RETURN_IF_ERROR(summary_file.check());
    RETURN_IF_ERROR(check_config_file(files_, flags_.config, ranks_.world_size));
    ASSIGN_OR_RETURN(config_, load_config(files_, flags_));
    RETURN_IF_ERROR(summary_file.check_inputs(
        [&] { return run_inputs(files_, flags_.config, config_.train()); }));
    ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives,
                     join_ranks(ranks_, config_, listener_));
    RETURN_IF_ERROR(on_rank_0(*collectives, [&] {
      return make_generated_data(files_, config_.train(), flags_.overwrite).status();
    }));
    JobResources resources;
    resources.log = &std::cerr;
    resources.local_world_size = ranks_.local_world_size;
    resources.data = &data_;
    Collectives& others = *collectives;  // the trainer's from here on
    ASSIGN_OR_RETURN(trainer_, build_evaluator(config_, resources, std::move(collectives)));
    const absl::StatusOr<LoadedModel> loaded =
        load_model(config_.train(), files_, flags_.checkpoint,
                   chosen_weights(flags_.weights, config_.train()), *trainer_, is_first(), &others);
    if (!loaded.ok()) {
      const absl::Status status = annotate(loaded.status(), "--checkpoint");
      others.fail(status);
      return status;
    }
    summary_.checkpoint = loaded->path;
    summary_.world_size = ranks_.world_size;
    summary_.progress = loaded->progress;
    return evaluate_sets();
  }

  // The sets' metrics, on rank 0 also for people.
  absl::Status evaluate_sets() {
    for (const EvaluationSetConfig& set : config_.train().eval_data()) {
      if (set.data().has_windows()) continue;  // see build_evaluator
      ASSIGN_OR_RETURN(const EvaluationResult result, trainer_->evaluate(set.name()));
      summary_.rows = trainer_->summary().rows;
      summary_.eval[set.name()] = result.metrics;
      if (!is_first()) continue;
      std::cout << metrics_text(absl::StrCat(set.name(), ":"), result.metrics,
                                absl::StrCat("examples ", result.examples),
                                line_columns(STDOUT_FILENO))
                << std::endl;
    }
    return absl::OkStatus();
  }

  const EvaluateFlags& flags_;
  const RankListener& listener_;
  FileSystem& files_ = UriFileSystem::process();
  RankEnvironment ranks_;
  JobConfig config_;
  DataReport data_;
  Summary summary_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace

Command add_evaluate_command(CLI::App& program, const RankListener& listener) {
  auto flags = std::make_shared<EvaluateFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("evaluate", "compute metrics of a trained model");
  add_config_flags(*command, *flags);
  command
      ->add_option(
          "--checkpoint", flags->checkpoint,
          "checkpoint, folder of them, or output directory of a training run; DIR/best: the "
          "best of such a folder or directory")
      ->required();
  add_weights_flag(*command, flags->weights);
  return [flags, listener] { return EvaluateCommand(*flags, listener).run(); };
}

}  // namespace millrace
