#include "tools/model_flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "job/input_paths.h"
#include "job/job_checkpoints.h"
#include "proto/config_reader.h"
#include "proto/data_windows.h"
#include "proto/split_bounds.h"

namespace millrace {
namespace {

// Reads the configuration of a checkpoint into `train`. Returns the path of the checkpoint.
absl::StatusOr<std::string> read_train_config(FileSystem& files, const std::string& checkpoint,
                                              TrainConfig* train) {
  std::string text;
  const UseChain take_text = [&](CheckpointChain chain) {
    text = chain.back()->manifest().config();
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const NewestCheckpoint found, open_checkpoint(files, checkpoint, take_text));
  const std::string& path = found.chain.back()->directory();
  if (text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " holds no configuration; give CONFIG, that of its job"));
  }
  const absl::Status parsed = parse_text(text, "config", train);
  if (parsed.ok()) {
    // Earlier versions accepted and ignored these for windows; validate() refuses them.
    if (comes_in_windows(train->train_data())) {
      train->clear_max_epochs();
      train->clear_max_steps_per_epoch();
    }
    return path;
  }
  return absl::InvalidArgumentError(absl::StrCat("this program cannot read the configuration in ",
                                                 path, "; give CONFIG: ", parsed.message()));
}

}  // namespace

void add_model_flags(CLI::App& command, ModelFlags& flags) {
  add_config_flags(command, flags);
  // Prints these flags in a section behind the flags of the command.
  for (CLI::Option* option : command.get_options()) {
    if (option->nonpositional() && option != command.get_help_ptr()) {
      option->group("Changes of the configuration, and what all commands have");
    }
  }
  command.get_option("config")
      ->required(false)
      ->check(check_not_empty)
      ->description(
          "configuration file (JobConfig in text format); default: the configuration that the "
          "checkpoint holds");
  command
      .add_option("--checkpoint", flags.checkpoint,
                  "checkpoint, folder of them, or output directory of a training run; DIR/best: "
                  "the best of such a folder or directory")
      ->required();
  add_weights_flag(command, flags.weights);
}

void read_in_order(TrainConfig* train) {
  train->clear_max_evaluation_steps();
  train->clear_max_evaluation_windows();
  train->clear_max_evaluation_seconds();
  for (EvaluationSetConfig& set : *train->mutable_eval_data()) {
    set.mutable_data()->clear_shuffle_rows();
    set.mutable_data()->clear_drop_remainder();
  }
}

absl::StatusOr<JobConfig> load_model_config(FileSystem& files, const ModelFlags& flags,
                                            int world_size) {
  if (!flags.config.empty()) {
    RETURN_IF_ERROR(check_config_file(files, flags.config, world_size));
    ASSIGN_OR_RETURN(const CheckedJob job, load_config(files, flags));
    JobConfig config = job.config();
    if (splits_by_example(config.train())) {
      keep_split_rule(read_saved_data_rules(files, flags.checkpoint), /*print=*/false,
                      config.mutable_train());
    }
    return config;
  }
  JobConfig config;
  ASSIGN_OR_RETURN(const std::string path,
                   read_train_config(files, flags.checkpoint, config.mutable_train()),
                   "--checkpoint");
  ASSIGN_OR_RETURN(const CheckedJob job,
                   complete_config(files, flags, std::move(config),
                                   absl::StrCat("the configuration in ", path)));
  config = job.config();
  if (flags.eval_data.has_value()) config.mutable_train()->clear_generated_data();
  return config;
}

std::vector<RunInput> training_files(FileSystem& files, const std::string& checkpoint,
                                     const std::string& output) {
  constexpr char kData[] = "the training data of the checkpoint";
  std::vector<RunInput> inputs;
  TrainConfig train;
  if (read_train_config(files, checkpoint, &train).ok()) {
    inputs = run_inputs(files, /*config_path=*/"", train, {.train_data = kData});
  }
  if (is_file_of_training(files, checkpoint, output)) {
    inputs.push_back({absl::StrCat("a file of ", kData), output});
  }
  return inputs;
}

namespace {

constexpr char kAverage[] = "average", kTrained[] = "trained";

}  // namespace

void add_weights_flag(CLI::App& command, std::string& weights) {
  command
      .add_option("--weights", weights,
                  "dense weights to take: average (train.moving_average) or trained; default: "
                  "average if the configuration has moving_average with evaluate, else trained")
      ->check(CLI::IsMember({kAverage, kTrained}));
}

ModelWeights chosen_weights(const std::string& weights, const TrainConfig& train) {
  if (weights.empty()) return default_weights(train);
  return weights == kAverage ? ModelWeights::kAverage : ModelWeights::kTrained;
}

}  // namespace millrace
