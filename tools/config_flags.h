// Flags of every command with a configuration.
#ifndef MILLRACE_TOOLS_CONFIG_FLAGS_H_
#define MILLRACE_TOOLS_CONFIG_FLAGS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "job/checked_job.h"
#include "job/input_paths.h"
#include "proto/config.pb.h"

namespace CLI {
class App;
}

namespace millrace {

struct ConfigFlags {
  std::string config;                     // path of a JobConfig
  std::vector<std::string> set;           // --set path.to.field=value
  std::optional<std::string> train_data;  // paths and patterns, separated by commas
  std::optional<std::string> eval_data;
  // Names of the flags of train_data and eval_data, for messages.
  std::string train_data_flag = "--train_data";
  std::string eval_data_flag = "--eval_data";
  std::optional<std::string> output_dir;
  std::optional<int64_t> max_steps;
  std::optional<int64_t> max_epochs;
  std::optional<uint64_t> seed;
  std::optional<int32_t> threads;
  std::optional<std::string> instruction_set;  // auto, baseline, avx2 or avx512
  std::optional<std::string> resume;           // auto, never or a path
  bool accept_changes = false;
  std::string summary;         // path; "": none
  bool overwrite = false;      // outputs may replace files of any kind
  std::string device = "cpu";  // cpu, auto, cuda or cuda:N
  // If true, the command can compute on a CUDA device. Other commands refuse a device.
  bool uses_device = false;
  // Changes the configuration after the other flags; null: no change. For programs, not parsed.
  std::function<void(JobConfig*)> change = nullptr;
};

// Returns the names of data in messages: the flags that replace fields of data.
DataNames data_names(const ConfigFlags& flags);

// Adds the flags to a command, except `resume`. `flags` must live until the command line is parsed;
// `uses_device` must be set before.
void add_config_flags(CLI::App& command, ConfigFlags& flags);

// Adds a repeatable option of paths and patterns, separated by commas. `paths` gets all of them in
// one list and must live until the command line is parsed. The parser refuses each value without a
// path.
void add_paths_flag(CLI::App& command, const std::string& name, std::optional<std::string>& paths,
                    const std::string& description);

// Validates options of unsigned types, for which the parser would wrap around. Returns: the error
// message, or "".
std::string check_not_negative(const std::string& text);

// Validates options with the name of a file. Returns: the error message, or "".
std::string check_not_empty(const std::string& text);

// Refuses a configuration that several ranks cannot all read: a pipe yields its text once.
// Errors: InvalidArgument with its path.
absl::Status check_config_file(FileSystem& files, const std::string& path, int world_size);

// Returns name_file() for a mistake in the configuration of a model or a hook (InvalidArgument that
// begins with its field), as which building the job reports it. Returns other errors unchanged,
// and all if there is no file (path "").
absl::Status name_file_of_parts(const absl::Status& status, absl::string_view path);

// Loads the configuration for the use of its model (CheckedJob::Use::kModel), changed by --set and
// then by the other flags. Errors: errors of CheckedJob::load(); InvalidArgument for an invalid
// flag.
absl::StatusOr<CheckedJob> load_config(FileSystem& files, const ConfigFlags& flags);

// Does the same with a configuration that is already read. `name` identifies the configuration in
// errors.
absl::StatusOr<CheckedJob> complete_config(FileSystem& files, const ConfigFlags& flags,
                                           JobConfig config, absl::string_view name);

// Does the same as load_config for a job that is to train on `ranks` ranks.
absl::StatusOr<CheckedJob> load_job(FileSystem& files, const ConfigFlags& flags, int64_t ranks);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CONFIG_FLAGS_H_
