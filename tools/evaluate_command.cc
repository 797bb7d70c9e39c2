#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "hooks/console/console_text.h"
#include "job/input_paths.h"
#include "job/job.h"
#include "tools/command_end.h"
#include "tools/commands.h"
#include "tools/model_evaluator.h"
#include "tools/model_run.h"
#include "tools/output/run_summary.h"
#include "tools/terminal.h"

namespace millrace {
namespace {

class EvaluateCommand {
 public:
  EvaluateCommand(const ModelFlags& flags, const RankListener& listener)
      : flags_(flags), listener_(listener) {}

  absl::StatusOr<int> run() {
    ASSIGN_OR_RETURN(ranks_, read_rank_environment());
    SummaryFile file(files_, is_first() ? flags_.summary : "", flags_.overwrite);
    const absl::Status status = evaluate(file);
    const absl::StatusOr<int> outcome = file.end_command(summary_, status);
    end_if_data_hangs(trainer_.get(), outcome);
    return outcome;
  }

  // Returns the summary of run() as JSON.
  std::string json() const { return summary_json(summary_, &data_); }

 private:
  // Returns true if this rank writes common output.
  bool is_first() const { return ranks_.rank == 0; }

  absl::Status evaluate(SummaryFile& summary_file) {
    RETURN_IF_ERROR(summary_file.check());
    ASSIGN_OR_RETURN(config_, load_model_config(files_, flags_, ranks_.world_size));
    RETURN_IF_ERROR(summary_file.check_inputs(
        [&] { return run_inputs(files_, flags_.config, config_.train(), data_names(flags_)); }));
    JobResources resources;
    resources.eval_data_is_of_flag = flags_.eval_data.has_value();
    resources.data = &data_;
    RETURN_IF_ERROR(make_model_evaluator(flags_, config_, ranks_, listener_, files_, resources,
                                         trainer_, summary_)
                        .status());
    return evaluate_sets();
  }

  // Computes the metrics of the sets, and prints them on rank 0.
  absl::Status evaluate_sets() {
    for (const EvaluationSetConfig& set : config_.train().eval_data()) {
      ASSIGN_OR_RETURN(const EvaluationResult result, trainer_->evaluate(set.name()));
      summary_.rows = trainer_->summary().rows;
      summary_.eval[set.name()] = result.metrics;
      summary_.unknown_shares[set.name()] = result.unknown_shares;
      if (!is_first()) continue;
      std::string ending = absl::StrCat("examples ", result.examples);
      const std::string unknown = unknown_ids_text(result.unknown_shares);
      if (!unknown.empty()) absl::StrAppend(&ending, "  ", unknown);
      std::cout << metrics_text(absl::StrCat(set.name(), ":"), result.metrics, ending,
                                line_columns(STDOUT_FILENO))
                << std::endl;
    }
    return absl::OkStatus();
  }

  const ModelFlags& flags_;
  const RankListener& listener_;
  FileSystem& files_ = ObjectFiles::process();
  RankEnvironment ranks_;
  JobConfig config_;
  DataReport data_;
  Summary summary_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace

absl::StatusOr<std::string> run_evaluation(const ModelFlags& flags) {
  const RankListener listener = nullptr;
  EvaluateCommand command(flags, listener);
  RETURN_IF_ERROR(command.run().status());
  return command.json();
}

Command add_evaluate_command(CLI::App& program, const RankListener& listener) {
  auto flags = std::make_shared<ModelFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("evaluate", "compute metrics of a trained model");
  flags->uses_device = true;
  add_model_flags(*command, *flags);
  return [flags, listener] { return EvaluateCommand(*flags, listener).run(); };
}

}  // namespace millrace
