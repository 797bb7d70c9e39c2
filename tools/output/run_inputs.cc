#include "tools/output/run_inputs.h"

#include "absl/strings/str_cat.h"
#include "base/path/shell_path.h"
#include "base/status_macros.h"
#include "io/files/deep_glob.h"
#include "io/files/glob_pattern.h"
#include "io/transform/create_transform.h"
#include "proto/inspection_hook_configs.pb.h"

namespace millrace {
namespace {

// Appends the paths and patterns of data.
void add_data(const std::string& field, const DataConfig& data, std::vector<RunInput>& inputs) {
  const std::string what = absl::StrCat("a file of ", field);
  for (const std::string& path : data.path()) inputs.push_back({what, path});
  const WindowsConfig& windows = data.windows();
  if (windows.has_directory()) {
    const DirectoryWindows& directory = windows.directory();
    inputs.push_back({what, join_path(directory.path(), directory.pattern())});
  }
  if (windows.has_time()) {
    // Matches below the part before the first %, where times of day may be directories too.
    const std::string& path = windows.time().path();
    const std::string above = directory_of(path.substr(0, path.find('%')) + "x");
    for (const char* between : {"", "*", "*/*", "*/*/*"}) {
      inputs.push_back({what, join_path(join_path(above, between), windows.time().pattern())});
    }
  }
  for (int i = 0; i < data.mix().source_size(); ++i) {
    add_data(absl::StrCat(field, ".mix.source[", i, "].data"), data.mix().source(i).data(), inputs);
  }
}

// Appends the files that transforms read.
void add_transforms(const FeatureConfig& feature, std::vector<RunInput>& inputs) {
  for (const TransformConfig& config : feature.transform()) {
    const auto paths = files_of_transform(config);
    if (!paths.ok()) continue;  // reported when the data is opened
    const std::string what = config.has_custom() ? absl::StrCat("a file of the transform \"",
                                                                config.custom().name(), "\"")
                                                 : "the vocabulary";
    for (const std::string& path : *paths) {
      inputs.push_back({absl::StrCat(what, " of train.feature \"", feature.name(), "\""), path});
    }
  }
}

// Returns the paths as configured, each with its field or the name of its data.
std::vector<RunInput> named_inputs(const TrainConfig& config, const DataNames& names) {
  std::vector<RunInput> inputs;
  add_data(names.train_data, config.train_data(), inputs);
  for (const EvaluationSetConfig& set : config.eval_data()) {
    const bool is_named = !names.eval_data.empty();
    add_data(is_named ? names.eval_data : absl::StrCat("train.eval_data \"", set.name(), "\""),
             set.data(), inputs);
  }
  for (const FeatureConfig& feature : config.feature()) {
    add_transforms(feature, inputs);
  }
  for (const SourceConfig& source : config.model_bank().source()) {
    inputs.push_back({"a source of train.model_bank", source.path()});
  }
  if (config.has_initialize_from()) {
    inputs.push_back({"train.initialize_from", config.initialize_from()});
  }
  return inputs;
}

// A pattern of files that a sink or a hook writes.
struct WrittenFiles {
  std::string field;
  std::string pattern;  // below the output directory
};

// Returns the files with known names that sinks and hooks write where the configuration says.
std::vector<WrittenFiles> written_files(const JobConfig& job) {
  std::vector<WrittenFiles> written;
  for (int i = 0; i < job.run().sink_size(); ++i) {
    const SinkConfig& sink = job.run().sink(i);
    if (!sink.has_csv()) continue;
    const std::string directory = literal_pattern(sink.csv().directory());
    const std::string below = sink.ranks() == SinkConfig::ALL ? "rank-*/" : "";
    written.push_back({absl::StrCat("run.sink[", i, "]"),
                       absl::StrCat(directory, "/", below, "{train,eval}.csv")});
  }
  const auto add_hooks = [&](const char* part, const auto& hooks) {
    for (int i = 0; i < hooks.size(); ++i) {
      const std::string field = absl::StrCat(part, ".hooks[", i, "]");
      if (hooks[i].name() == "mllog") {
        written.push_back({field, literal_pattern(hooks[i].GetExtension(mllog).file())});
      } else if (hooks[i].name() == "embedding_projector") {
        const std::string& directory = hooks[i].GetExtension(embedding_projector).directory();
        written.push_back(
            {field, absl::StrCat(literal_pattern(directory), "/{,rank-*/}projector_*")});
      }
    }
  };
  add_hooks("train", job.train().hooks());
  add_hooks("run", job.run().hooks());
  return written;
}

}  // namespace

std::vector<RunInput> run_inputs(FileSystem& files, const std::string& config_path,
                                 const TrainConfig& config, const DataNames& names) {
  std::vector<RunInput> inputs;
  if (!config_path.empty()) inputs.push_back({"the configuration", config_path});
  for (const RunInput& named : named_inputs(config, names)) {
    if (named.path.empty() || is_uri(named.path)) continue;
    for (std::string& path : named_files(files, named.path).value_or(std::vector<std::string>())) {
      inputs.push_back({named.what, std::move(path)});
    }
  }
  return inputs;
}

std::vector<RunInput> run_outputs(const RunConfig& config) {
  std::vector<RunInput> outputs;
  for (const char* name :
       {"config.textproto", "events.jsonl", "windows.jsonl", "lock", "checkpoints/lock",
        "metrics/train.jsonl", "metrics/eval.jsonl", "logs/rank-0.log"}) {
    outputs.push_back({"a file that the run itself writes", join_path(config.output_dir(), name)});
  }
  return outputs;
}

absl::Status check_written_files(FileSystem& files, const std::string& config_path,
                                 const JobConfig& job) {
  const std::string directory = literal_pattern(job.run().output_dir());
  std::vector<RunInput> inputs;  // listed once a file exists
  for (const WrittenFiles& written : written_files(job)) {
    const auto paths = files.glob(join_path(directory, written.pattern));
    if (!paths.ok()) continue;  // reported by the hook or sink
    for (const std::string& path : *paths) {
      if (inputs.empty()) inputs = run_inputs(files, config_path, job.train());
      RETURN_IF_ERROR(check_not_input(files, path, inputs), written.field);
    }
  }
  return absl::OkStatus();
}

absl::Status check_input_paths(FileSystem& files, const TrainConfig& config,
                               const DataNames& names) {
  for (const RunInput& named : named_inputs(config, names)) {
    const absl::Status status = check_shell_path(named.path);
    if (status.ok()) continue;
    const auto paths = named_files(files, named.path);
    if (paths.ok() && !paths->empty() && files.info(paths->front()).ok()) continue;
    return absl::NotFoundError(absl::StrCat(named.what, " is missing: ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace millrace
