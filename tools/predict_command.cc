#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "distributed/agreed_result.h"
#include "hooks/console/console_text.h"
#include "io/feature_schema.h"
#include "io/file_reader.h"
#include "io/files/file_set.h"
#include "job/input_paths.h"
#include "job/job.h"
#include "tools/command_end.h"
#include "tools/commands.h"
#include "tools/model_evaluator.h"
#include "tools/model_run.h"
#include "tools/output/output_file.h"
#include "tools/output/output_kinds.h"
#include "tools/output/prediction_file.h"
#include "tools/output/prediction_writer.h"
#include "tools/output/run_summary.h"

namespace millrace {
namespace {

// Returns the columns of the first readable file of `sets`; none without such a file.
std::vector<std::string> columns_of_data(
    FileSystem& files, const google::protobuf::RepeatedPtrField<EvaluationSetConfig>& sets) {
  std::vector<std::string> columns;
  for (const EvaluationSetConfig& set : sets) {
    const auto paths = expand_paths(files, set.data());
    if (!paths.ok()) continue;  // reported when the set is opened
    for (const std::string& path : *paths) {
      const auto file = open_file(files, path, set.data());
      if (!file.ok()) continue;
      for (const FileColumn& column : (*file)->columns()) columns.push_back(column.name);
      return columns;
    }
  }
  return columns;
}

// Returns all columns that a file of predictions may have.
PredictionColumns possible_columns(const FeatureSchema& schema, bool with_set,
                                   const std::vector<std::string>& kept) {
  PredictionColumns columns;
  columns.tasks = schema.labels();
  columns.with_label.assign(columns.tasks.size(), true);
  columns.with_set = with_set;
  for (const FeatureConfig& feature : schema.features()) {
    if (feature.kind() == FeatureConfig::GROUP_ID) columns.with_group_ids = true;
  }
  for (const std::string& name : kept) columns.kept.push_back({.name = name});
  return columns;
}

// Returns the file of a rank: with several ranks, "NAME-RRRRR-of-WWWWW.EXTENSION".
std::string file_of_rank(const std::string& output, int rank, int world_size) {
  if (world_size == 1) return output;
  const size_t name = output.rfind('/') == std::string::npos ? 0 : output.rfind('/') + 1;
  const size_t dot = std::max(name, std::min(output.rfind('.'), output.size()));
  return absl::StrCat(output.substr(0, dot), absl::StrFormat("-%05d-of-%05d", rank, world_size),
                      output.substr(dot));
}

std::string file_of_rank(const std::string& output, const RankEnvironment& ranks) {
  return file_of_rank(output, ranks.rank, ranks.world_size);
}

class PredictCommand {
 public:
  PredictCommand(const PredictFlags& flags, const RankListener& listener)
      : flags_(flags), listener_(listener) {}

  absl::StatusOr<int> run() {
    ASSIGN_OR_RETURN(ranks_, read_rank_environment());
    output_ = file_of_rank(flags_.output, ranks_);
    SummaryFile summary_file(files_, is_first() ? flags_.summary : "", flags_.overwrite);
    const absl::Status status = predict(summary_file);
    const absl::StatusOr<int> outcome = summary_file.end_command(summary_, status);
    end_if_data_hangs(trainer_.get(), outcome);
    return outcome;
  }

  // Returns the number of examples of run(), of all ranks.
  int64_t examples() const { return examples_; }

 private:
  // Returns true if this rank writes common output.
  bool is_first() const { return ranks_.rank == 0; }

  absl::Status predict(SummaryFile& summary_file) {
    RETURN_IF_ERROR(summary_file.check());
    ASSIGN_OR_RETURN(format_, prediction_format(flags_.output), "--output");
    RETURN_IF_ERROR(read_config());
    RETURN_IF_ERROR(check_keep(), "--keep");
    RETURN_IF_ERROR(check_outputs(summary_file));
    JobResources resources;
    resources.labels_may_miss = true;
    resources.eval_data_is_of_flag = effective_flags_.eval_data.has_value();
    resources.eval_data_flag =
        effective_flags_.eval_data.has_value() ? effective_flags_.eval_data_flag : "--data";
    resources.kept_columns = kept_columns_;
    resources.data = &data_;
    ASSIGN_OR_RETURN(Collectives* const others,
                     make_model_evaluator(flags_, config_, ranks_, listener_, files_, resources,
                                          trainer_, summary_));
    const absl::Status written = write_output_file(
        files_, output_, [&](WritableFile& file) { return write_predictions(file, *others); });
    // Other ranks may still wait for this rank.
    if (!written.ok()) others->fail(written);
    return written;
  }

  // Reads the configuration, changed to read each set completely, in the order of its files.
  absl::Status read_config() {
    ModelFlags& flags = effective_flags_;
    flags = flags_;
    if (flags_.data.has_value()) {
      if (flags_.eval_data.has_value()) {
        return absl::InvalidArgumentError("--data and --eval_data both say what to predict");
      }
      flags.eval_data = flags_.data;
      flags.eval_data_flag = "--data";
      // No training data is read; a configuration may leave its paths to the command line.
      if (!flags.train_data.has_value()) {
        flags.train_data = flags_.data;
        flags.train_data_flag = "--data";
      }
    }
    ASSIGN_OR_RETURN(config_, load_model_config(files_, flags, ranks_.world_size));
    read_in_order(config_.mutable_train());
    if (!flags_.data.has_value()) return absl::OkStatus();
    for (EvaluationSetConfig& set : *config_.mutable_train()->mutable_eval_data()) {
      set.mutable_data()->clear_split();
      set.mutable_data()->clear_sample();
    }
    return absl::OkStatus();
  }

  absl::Status check_keep() {
    if (flags_.keep.empty()) return absl::OkStatus();
    const bool any_comma =
        std::any_of(flags_.keep.begin(), flags_.keep.end(),
                    [](const std::string& value) { return absl::StrContains(value, ','); });
    std::vector<std::string> columns;  // which matter for values with commas alone
    if (any_comma) columns = columns_of_data(files_, config_.train().eval_data());
    ASSIGN_OR_RETURN(kept_columns_, kept_names(flags_.keep, columns));
    ASSIGN_OR_RETURN(const FeatureSchema schema, FeatureSchema::create(config_.train()));
    return check_kept_names(possible_columns(schema, with_set(), kept_columns_));
  }

  // Returns true if rows name their set.
  bool with_set() const { return config_.train().eval_data_size() > 1; }

  // Checks outputs before the work, so that an error does not occur at the end and inputs are not
  // replaced.
  absl::Status check_outputs(SummaryFile& summary_file) {
    std::vector<RunInput> taken =
        run_inputs(files_, flags_.config, config_.train(), data_names(effective_flags_));
    for (RunInput& input : training_files(files_, flags_.checkpoint, output_)) {
      taken.push_back(std::move(input));
    }
    RETURN_IF_ERROR(check_output(files_, output_, predictions_kind(), taken, flags_.overwrite),
                    "--output");
    for (int rank = 0; rank < ranks_.world_size; ++rank) {
      taken.push_back(
          {"the file of --output", file_of_rank(flags_.output, rank, ranks_.world_size)});
    }
    return summary_file.check_inputs([&] { return taken; });
  }

  absl::Status write_predictions(WritableFile& file, Collectives& others) {
    ASSIGN_OR_RETURN(const FeatureSchema schema, FeatureSchema::create(config_.train()));
    std::vector<bool> masked;
    for (const FeatureConfig& feature : schema.features()) {
      if (feature.kind() != FeatureConfig::LABEL) continue;
      masked.push_back(feature.missing() == FeatureConfig::MASK);
    }
    PredictionFile predictions(file, format_, schema.labels(), with_set(), masked, kept_columns_);
    RETURN_IF_ERROR(predict_sets(predictions));
    RETURN_IF_ERROR(finish(predictions, file, others));
    if (!is_first()) return absl::OkStatus();
    std::cout << "predictions: " << examples_ << " examples in " << output_;
    if (ranks_.world_size > 1) {
      std::cout << " to " << file_of_rank(flags_.output, ranks_.world_size - 1, ranks_.world_size);
    }
    for (const auto& [set, shares] : summary_.unknown_shares) {
      const std::string unknown = unknown_ids_text(shares);
      if (!unknown.empty()) std::cout << "\n" << set << ": " << unknown;
    }
    std::cout << std::endl;
    return absl::OkStatus();
  }

  // Finishes and syncs the files of all ranks, so that none is renamed unless all are complete.
  static absl::Status finish(PredictionFile& predictions, WritableFile& file, Collectives& others) {
    ASSIGN_OR_RETURN(const std::vector<std::string> all,
                     gather_results(predictions.columns(), others));
    const auto with_examples =
        std::find_if(all.begin(), all.end(), [](const auto& columns) { return !columns.empty(); });
    absl::Status finished = predictions.finish(with_examples == all.end() ? "" : *with_examples);
    if (finished.ok()) finished = file.sync();
    return gather_statuses(finished, others);
  }

  absl::Status predict_sets(PredictionFile& predictions) {
    const auto append = [&predictions](const Batch& batch, const StepResult& result) {
      return predictions.append(batch, result);
    };
    for (const EvaluationSetConfig& set : config_.train().eval_data()) {
      predictions.begin_set(set.name(), with_labels(set.name()));
      ASSIGN_OR_RETURN(const EvaluationResult result, trainer_->predict(set.name(), append));
      examples_ += result.examples;
      summary_.unknown_shares[set.name()] = result.unknown_shares;
      summary_.rows = trainer_->summary().rows;
    }
    return absl::OkStatus();
  }

  // Returns per task whether the files of a set have its label; empty: not known.
  std::vector<bool> with_labels(absl::string_view set) const {
    std::vector<bool> with_labels;
    for (const DataSetReport& report : data_.sets()) {
      if (report.name != DataReport::name_of(set) || report.is_registered) continue;
      for (const FeatureConfig& feature : config_.train().feature()) {
        if (feature.kind() != FeatureConfig::LABEL) continue;
        const auto& missing = report.missing_labels;
        with_labels.push_back(std::find(missing.begin(), missing.end(), feature.name()) ==
                              missing.end());
      }
    }
    return with_labels;
  }

  const PredictFlags& flags_;
  const RankListener& listener_;
  FileSystem& files_ = ObjectFiles::process();
  RankEnvironment ranks_;
  ModelFlags effective_flags_;  // with --data as the flags of the configuration
  std::string output_;          // of this rank
  std::vector<std::string> kept_columns_;
  int64_t examples_ = 0;  // of all ranks
  PredictionFormat format_ = PredictionFormat::kParquet;
  JobConfig config_;
  DataReport data_;
  Summary summary_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace

absl::StatusOr<int64_t> run_prediction(const PredictFlags& flags) {
  const RankListener listener = nullptr;
  PredictCommand command(flags, listener);
  RETURN_IF_ERROR(command.run().status());
  return command.examples();
}

Command add_predict_command(CLI::App& program, const RankListener& listener) {
  auto flags = std::make_shared<PredictFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("predict", "write what a trained model predicts");
  flags->uses_device = true;
  add_model_flags(*command, *flags);
  add_paths_flag(*command, "--data", flags->data,
                 "comma-separated globs to predict; repeatable; default: the evaluation sets");
  command
      ->add_option(
          "--keep", flags->keep,
          "columns of the data files to write unchanged, such as user_id,day, or one column "
          "by its whole name; repeatable")
      ->allow_extra_args(false);
  command
      ->add_option("--output", flags->output,
                   "file to write: .parquet, .pq or .csv; on several ranks a file for each")
      ->required();
  return [flags, listener] { return PredictCommand(*flags, listener).run(); };
}

}  // namespace millrace
