#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/feature_schema.h"
#include "io/uri_file_system.h"
#include "tools/commands.h"
#include "tools/config_flags.h"
#include "tools/job.h"
#include "tools/job_checkpoints.h"
#include "tools/model_script.h"
#include "tools/output_place.h"
#include "tools/ranks.h"
#include "tools/summary_json.h"

namespace millrace {
namespace {

struct ExportFlags : ConfigFlags {
  std::string checkpoint;
  std::string output;
};

// Whether `output` is one of the files that are read.
absl::Status check_not_read(const std::string& output, const std::string& config,
                            const std::string& checkpoint) {
  std::error_code error;
  if (std::filesystem::equivalent(output, config, error)) {
    return absl::InvalidArgumentError(absl::StrCat(output, " is the configuration"));
  }
  const std::string above = directory_of(output);
  if (std::filesystem::equivalent(above, checkpoint, error)) {
    return absl::InvalidArgumentError(absl::StrCat(output, " would lie in a checkpoint"));
  }
  return absl::OkStatus();
}

absl::Status export_model(const ExportFlags& flags, FileSystem& files, Summary* summary) {
  RETURN_IF_ERROR(check_one_rank("export"));
  RETURN_IF_ERROR(check_summary_file(files, flags.summary));
  RETURN_IF_ERROR(check_output_file(files, flags.output), "--output");
  ASSIGN_OR_RETURN(const JobConfig config, load_config(files, flags));
  const TrainConfig& train = config.train();
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, build_loader(config, {}));
  ASSIGN_OR_RETURN(const LoadedModel loaded,
                   load_model(train, files, flags.checkpoint, *trainer, /*print=*/true),
                   "--checkpoint");
  RETURN_IF_ERROR(check_not_read(flags.output, flags.config, loaded.path), "--output");
  summary->checkpoint = loaded.path;
  summary->progress = loaded.progress;
  ASSIGN_OR_RETURN(FeatureSchema schema, FeatureSchema::create(train));
  const ModelScriptOptions options = {std::move(schema), train.model().name(), loaded.progress};
  std::vector<ScriptInput> inputs;
  RETURN_IF_ERROR(write_file_atomically(files, flags.output, [&](WritableFile& file) {
    absl::StatusOr<std::vector<ScriptInput>> written =
        write_model_script(trainer->model(), options, file);
    if (written.ok()) inputs = *std::move(written);
    return written.status();
  }));
  std::cout << "exported " << loaded.path << " to " << flags.output << "\n";
  for (const ScriptInput& input : inputs) {
    std::cout << "input " << input.name << ": " << input.type_text() << "\n";
  }
  std::cout.flush();
  return absl::OkStatus();
}

absl::StatusOr<int> run(const ExportFlags& flags) {
  FileSystem& files = UriFileSystem::process();
  Summary summary;
  const absl::Status status = export_model(flags, files, &summary);
  return end_with_summary(files, flags.summary, summary, status);
}

}  // namespace

Command add_export_command(CLI::App& program) {
  auto flags = std::make_shared<ExportFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand(
      "export", "write the dense part of a trained model as TorchScript, for serving");
  add_config_flags(*command, *flags);
  command
      ->add_option("--checkpoint", flags->checkpoint,
                   "checkpoint, folder of them, or output directory of a training run")
      ->required();
  command->add_option("--output", flags->output, "file to write, such as model.pt")->required();
  return [flags] { return run(*flags); };
}

}  // namespace millrace
