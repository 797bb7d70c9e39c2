#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "io/feature_schema.h"
#include "job/input_paths.h"
#include "job/job.h"
#include "job/job_checkpoints.h"
#include "job/ranks.h"
#include "tools/commands.h"
#include "tools/model_flags.h"
#include "tools/output/output_file.h"
#include "tools/output/output_kinds.h"
#include "tools/output/run_summary.h"
#include "tools/script/model_script.h"

namespace millrace {
namespace {

struct ExportFlags : ModelFlags {
  std::string output;
};

absl::Status check_outputs(const ExportFlags& flags, const JobConfig& config, FileSystem& files,
                           SummaryFile& summary_file) {
  std::vector<RunInput> taken = run_inputs(files, flags.config, config.train());
  RETURN_IF_ERROR(check_output(files, flags.output, script_kind(), taken, flags.overwrite),
                  "--output");
  taken.push_back({"the file of --output", flags.output});
  return summary_file.check_inputs([&] { return taken; });
}

absl::Status export_model(const ExportFlags& flags, FileSystem& files, SummaryFile& summary_file,
                          Summary* summary) {
  RETURN_IF_ERROR(check_one_rank("export"));
  RETURN_IF_ERROR(summary_file.check());
  ASSIGN_OR_RETURN(const JobConfig config, load_model_config(files, flags, /*world_size=*/1));
  // Checks outputs before the model is loaded, which may take minutes.
  RETURN_IF_ERROR(check_outputs(flags, config, files, summary_file));
  const TrainConfig& train = config.train();
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, build_loader(config, {}));
  ASSIGN_OR_RETURN(const LoadedModel loaded,
                   load_model(train, files, flags.checkpoint, chosen_weights(flags.weights, train),
                              *trainer, /*print=*/true),
                   "--checkpoint");
  summary->checkpoint = loaded.path;
  summary->progress = loaded.progress;
  ASSIGN_OR_RETURN(FeatureSchema schema, FeatureSchema::create(train));
  const ModelScriptOptions options = {std::move(schema), train.model().name(), loaded.progress};
  std::vector<ScriptInput> inputs;
  RETURN_IF_ERROR(write_output_file(files, flags.output, [&](WritableFile& file) {
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

absl::StatusOr<int> run_model_export(const ExportFlags& flags) {
  FileSystem& files = ObjectFiles::process();
  Summary summary;
  SummaryFile file(files, flags.summary, flags.overwrite);
  const absl::Status status = export_model(flags, files, file, &summary);
  return file.end_command(summary, status);
}

}  // namespace

Command add_export_command(CLI::App& program) {
  auto flags = std::make_shared<ExportFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand(
      "export", "write the dense part of a trained model as TorchScript, for serving");
  add_model_flags(*command, *flags);
  command->add_option("--output", flags->output, "file to write, such as model.pt")->required();
  return [flags] { return run_model_export(*flags); };
}

}  // namespace millrace
