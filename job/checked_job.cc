#include "job/checked_job.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "config/config_check.h"
#include "job/generated_data.h"
#include "job/job_check.h"
#include "job/report/report_options.h"
#include "metrics/metric.h"
#include "plugin/configured_plugins.h"
#include "proto/config_durations.h"
#include "proto/config_reader.h"
#include "proto/config_variables.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/split_bounds.h"

namespace millrace {
namespace {

// Checks that each metric can be made.
absl::Status check_metric_names(const TrainConfig& train) {
  FieldErrors errors;
  const std::vector<CustomConfig> configs = metric_messages_in_range(train);
  const auto check = [&](const std::string& list, const auto& names) {
    for (int i = 0; i < names.size(); ++i) {
      const absl::Status status = create_metric(names[i], configs).status();
      if (!status.ok()) errors.add(wrong(entry(list, i), status.message()));
    }
  };
  check("train.metric", train.metric());
  for (int i = 0; i < train.eval_data_size(); ++i) {
    const EvaluationSetConfig& set = train.eval_data(i);
    check(entry("train.eval_data", i, set.name()) + ".metric", set.metric());
  }
  return errors.status();
}

// Checks what depends on the program. Resolves plugins, which adds their digests to `config`.
absl::Status check_program(JobConfig& config, const CheckedJob::Options& options) {
  if (options.use != CheckedJob::Use::kTraining) return check_report(config);
  return all_errors({check_job(config, options.ranks), resolve_plugins(config)});
}

}  // namespace

absl::Status name_file(const absl::Status& status, absl::string_view path) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrReplaceAll(absl::StrCat(path, ": ", status.message()),
                                          {{"\n", absl::StrCat("\n  ", path, ": ")}}));
}

absl::StatusOr<CheckedJob> CheckedJob::load(FileSystem& files, const std::string& path,
                                            const Options& options) {
  ASSIGN_OR_RETURN(JobConfig config, read_job_config(files, path));
  Options of_file = options;
  of_file.change = [&options](JobConfig* config) -> absl::Status {
    if (options.change != nullptr) RETURN_IF_ERROR(options.change(config));
    // A change may have added the first split. A configuration of a checkpoint keeps its rule.
    use_file_names(config->mutable_train());
    return absl::OkStatus();
  };
  return check(files, std::move(config), path, of_file);
}

absl::StatusOr<CheckedJob> CheckedJob::check(FileSystem& files, JobConfig config,
                                             absl::string_view name, const Options& options) {
  if (options.change != nullptr) RETURN_IF_ERROR(options.change(&config));
  RETURN_IF_ERROR(merge_includes(files, &config), name);
  RETURN_IF_ERROR(name_file(expand_environment(&config), name));
  RETURN_IF_ERROR(name_file(check_places_of_secrets(config), name));
  RETURN_IF_ERROR(name_file(use_durations("", &config), name));
  TrainConfig* train = config.mutable_train();
  expand_names(train);
  use_generated_data(train);
  RETURN_IF_ERROR(name_file(
      all_errors({validate(config), check_metric_names(*train), check_program(config, options)}),
      name));
  RETURN_IF_ERROR(check_input_paths(files, *train, options.data_names), name);
  return CheckedJob(std::move(config), options.use);
}

absl::StatusOr<CheckedJob> CheckedJob::load(FileSystem& files, const std::string& path) {
  return load(files, path, Options());
}

absl::StatusOr<CheckedJob> CheckedJob::check(FileSystem& files, JobConfig config,
                                             absl::string_view name) {
  return check(files, std::move(config), name, Options());
}

}  // namespace millrace
