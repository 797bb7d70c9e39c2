#include <ATen/Parallel.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "framework/trainer_parts.h"
#include "hooks/console/console_text.h"
#include "io/feature_schema.h"
#include "job/input_paths.h"
#include "job/job.h"
#include "metrics/metric_registry.h"
#include "tools/command_end.h"
#include "tools/commands.h"
#include "tools/compare_models.h"
#include "tools/model_evaluator.h"
#include "tools/model_run.h"
#include "tools/output/run_summary.h"
#include "tools/terminal.h"

namespace millrace {
namespace {

struct EvaluateFlags : ModelFlags {
  std::string compare;  // another checkpoint; "": none
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
    if (!flags_.compare.empty()) return compare();
    RETURN_IF_ERROR(make_evaluator(flags_, config_));
    return evaluate_sets();
  }

  absl::Status make_evaluator(const ModelFlags& flags, const JobConfig& config) {
    JobResources resources;
    resources.eval_data_is_of_flag = flags.eval_data.has_value();
    resources.data = &data_;
    return make_model_evaluator(flags, config, ranks_, listener_, files_, resources, trainer_,
                                summary_)
        .status();
  }

  // Prints the differences of the metrics of two checkpoints on the sets of the first one's job.
  absl::Status compare() {
    if (ranks_.world_size > 1) {
      return absl::InvalidArgumentError("--compare reads the sets on one rank; start one process");
    }
    if (!flags_.summary.empty()) {
      return absl::InvalidArgumentError(
          "--summary has no differences; leave it out with --compare");
    }
    read_in_order(config_.mutable_train());
    ASSIGN_OR_RETURN(const std::vector<ScoredSet> first, score(flags_, config_));
    ModelFlags flags = flags_;
    flags.checkpoint = flags_.compare;
    ASSIGN_OR_RETURN(JobConfig config, load_model_config(files_, flags, ranks_.world_size),
                     "--compare");
    const auto& sets = config_.train().eval_data();
    *config.mutable_train()->mutable_eval_data() = sets;
    ASSIGN_OR_RETURN(const std::vector<ScoredSet> second, score(flags, config), "--compare");
    ASSIGN_OR_RETURN(const FeatureSchema schema, FeatureSchema::create(config_.train()));
    const std::vector<CustomConfig> messages(config_.train().custom_metric().begin(),
                                             config_.train().custom_metric().end());
    for (int i = 0; i < sets.size(); ++i) {
      const auto& given = sets[i].metric().empty() ? config_.train().metric() : sets[i].metric();
      std::vector<std::string> names(given.begin(), given.end());
      if (names.empty()) names = TrainerOptions().metrics;
      std::erase_if(names, [](const std::string& name) {
        if (!traits_of_metric(name).ignores_weights) return false;
        std::cerr << "millrace: " << name << " counts no weights, so it has no interval\n";
        return true;
      });
      if (names.empty()) continue;
      const auto make = [&] {
        return MetricSet::create(names, schema.labels(), LossScope::kThisRank, messages);
      };
      ASSIGN_OR_RETURN(const std::vector<ComparedMetric> compared,
                       compare_metrics(first[i], second[i], make, at::get_num_threads()),
                       sets[i].name());
      std::cout << sets[i].name() << ": " << first[i].examples() << " examples, " << kResamples
                << " resamples\n"
                << comparison_text(compared) << std::flush;
    }
    return absl::OkStatus();
  }

  // Returns the predictions of a checkpoint for each set.
  absl::StatusOr<std::vector<ScoredSet>> score(const ModelFlags& flags, const JobConfig& config) {
    RETURN_IF_ERROR(make_evaluator(flags, config));
    std::vector<ScoredSet> scored;
    for (const EvaluationSetConfig& set : config.train().eval_data()) {
      scored.emplace_back();
      const auto add = [&](const Batch&, const StepResult& result) {
        scored.back().add(result);
        return absl::OkStatus();
      };
      RETURN_IF_ERROR(trainer_->predict(set.name(), add).status());
      if (scored.back().examples() == 0) {
        return absl::InvalidArgumentError(absl::StrCat(set.name(), " has no examples"));
      }
    }
    return scored;
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

  const EvaluateFlags& flags_;
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
  const EvaluateFlags evaluated{flags};
  EvaluateCommand command(evaluated, listener);
  RETURN_IF_ERROR(command.run().status());
  return command.json();
}

Command add_evaluate_command(CLI::App& program, const RankListener& listener) {
  auto flags = std::make_shared<EvaluateFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("evaluate", "compute metrics of a trained model");
  flags->uses_device = true;
  add_model_flags(*command, *flags);
  command->add_option("--compare", flags->compare,
                      "another checkpoint: prints the differences of the metrics and how far they "
                      "depend on the examples");
  return [flags, listener] { return EvaluateCommand(*flags, listener).run(); };
}

}  // namespace millrace
