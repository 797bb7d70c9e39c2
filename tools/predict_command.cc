#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "io/feature_schema.h"
#include "io/files/uri_file_system.h"
#include "job/generated_data.h"
#include "job/job.h"
#include "job/job_checkpoints.h"
#include "job/ranks.h"
#include "tools/command_end.h"
#include "tools/commands.h"
#include "tools/config_flags.h"
#include "tools/output/output_file.h"
#include "tools/output/output_kinds.h"
#include "tools/output/prediction_hook.h"
#include "tools/output/run_inputs.h"
#include "tools/output/summary_file.h"
#include "tools/weights_flag.h"

namespace millrace {
namespace {

struct PredictFlags : ConfigFlags {
  std::string checkpoint;
  std::string weights;              // see add_weights_flag
  std::optional<std::string> data;  // comma-separated globs
  std::string output;
};

class PredictCommand {
 public:
  explicit PredictCommand(const PredictFlags& flags)
      : flags_(flags), summary_file_(files_, flags.summary, flags.overwrite) {}

  absl::StatusOr<int> run() {
    const absl::Status status = predict();
    const absl::StatusOr<int> outcome = summary_file_.end_command(summary_, status);
    end_if_data_hangs(trainer_.get(), outcome);
    return outcome;
  }

 private:
  absl::Status predict() {
    RETURN_IF_ERROR(check_one_rank("predict"));
    RETURN_IF_ERROR(summary_file_.check());
    ASSIGN_OR_RETURN(format_, prediction_format(flags_.output), "--output");
    RETURN_IF_ERROR(read_config());
    RETURN_IF_ERROR(check_outputs());
    RETURN_IF_ERROR(make_generated_data(files_, config_.train(), flags_.overwrite).status());
    JobResources resources;
    resources.log = &std::cerr;
    resources.labels_may_miss = true;
    resources.data = &data_;
    ASSIGN_OR_RETURN(trainer_, build_evaluator(config_, resources));
    ASSIGN_OR_RETURN(
        const LoadedModel loaded,
        load_model(config_.train(), files_, flags_.checkpoint,
                   chosen_weights(flags_.weights, config_.train()), *trainer_, /*print=*/true),
        "--checkpoint");
    summary_.checkpoint = loaded.path;
    summary_.progress = loaded.progress;
    return write_output_file(files_, flags_.output,
                             [&](WritableFile& file) { return write_predictions(file); });
  }

  // The whole of each set in the order of its files.
  absl::Status read_config() {
    ConfigFlags flags = flags_;
    if (flags_.data.has_value()) {
      if (flags_.eval_data.has_value()) {
        return absl::InvalidArgumentError("--data and --eval_data both say what to predict");
      }
      flags.eval_data = flags_.data;
      // None is read here; a configuration may leave its paths to the command line.
      if (!flags.train_data.has_value()) flags.train_data = flags_.data;
    }
    ASSIGN_OR_RETURN(config_, load_config(files_, flags));
    TrainConfig& train = *config_.mutable_train();
    train.set_max_evaluation_steps(0);
    train.clear_metric();
    train.add_metric("mean");  // of constant memory
    for (EvaluationSetConfig& set : *train.mutable_eval_data()) {
      set.clear_metric();
      set.mutable_data()->clear_shuffle_rows();
      set.mutable_data()->clear_drop_remainder();
      if (!flags_.data.has_value()) continue;
      set.mutable_data()->clear_split();
      set.mutable_data()->clear_sample();
    }
    return absl::OkStatus();
  }

  // What would otherwise show when all is done, or replace what is being read.
  absl::Status check_outputs() {
    std::vector<RunInput> taken = run_inputs(files_, flags_.config, config_.train());
    RETURN_IF_ERROR(
        check_output(files_, flags_.output, predictions_kind(), taken, flags_.overwrite),
        "--output");
    taken.push_back({"the file of --output", flags_.output});
    return summary_file_.check_inputs([&] { return taken; });
  }

  absl::Status write_predictions(WritableFile& file) {
    ASSIGN_OR_RETURN(const FeatureSchema schema, FeatureSchema::create(config_.train()));
    const auto& sets = config_.train().eval_data();
    const auto fixed = std::count_if(sets.begin(), sets.end(), [](const EvaluationSetConfig& set) {
      return !set.data().has_windows();
    });
    std::vector<bool> masked;
    for (const FeatureConfig& feature : schema.features()) {
      if (feature.kind() != FeatureConfig::LABEL) continue;
      masked.push_back(feature.missing() == FeatureConfig::MASK);
    }
    auto owned =
        std::make_unique<PredictionHook>(file, format_, schema.labels(), fixed > 1, masked);
    PredictionHook& hook = *owned;
    RETURN_IF_ERROR(trainer_->add_hook(std::move(owned)));
    absl::Status status = predict_sets(hook);
    if (status.ok()) status = hook.finish();
    hook.abandon();  // the file goes before the trainer
    RETURN_IF_ERROR(status);
    std::cout << "predictions: " << hook.examples() << " examples in " << flags_.output
              << std::endl;
    return absl::OkStatus();
  }

  absl::Status predict_sets(PredictionHook& hook) {
    for (const EvaluationSetConfig& set : config_.train().eval_data()) {
      if (set.data().has_windows()) continue;  // see build_evaluator
      hook.begin_set(set.name());
      RETURN_IF_ERROR(trainer_->evaluate(set.name()).status());
      summary_.rows = trainer_->summary().rows;
    }
    return absl::OkStatus();
  }

  const PredictFlags& flags_;
  FileSystem& files_ = UriFileSystem::process();
  SummaryFile summary_file_;
  PredictionFormat format_ = PredictionFormat::kParquet;
  JobConfig config_;
  DataReport data_;
  Summary summary_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace

Command add_predict_command(CLI::App& program) {
  auto flags = std::make_shared<PredictFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("predict", "write what a trained model predicts");
  add_config_flags(*command, *flags);
  command
      ->add_option(
          "--checkpoint", flags->checkpoint,
          "checkpoint, folder of them, or output directory of a training run; DIR/best: the "
          "best of such a folder or directory")
      ->required();
  add_weights_flag(*command, flags->weights);
  command->add_option("--data", flags->data,
                      "comma-separated globs to predict; default: the evaluation sets");
  command->add_option("--output", flags->output, "file to write: .parquet, .pq or .csv")
      ->required();
  return [flags] { return PredictCommand(*flags).run(); };
}

}  // namespace millrace
