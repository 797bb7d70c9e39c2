#include "job/input_paths.h"

#include "absl/strings/str_cat.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "io/files/glob.h"
#include "io/transform/transform_registry.h"

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
