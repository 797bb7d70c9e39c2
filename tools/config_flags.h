// Flags that every command with a configuration takes.
#ifndef MILLRACE_TOOLS_CONFIG_FLAGS_H_
#define MILLRACE_TOOLS_CONFIG_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "proto/config.pb.h"
#include "tools/output/run_inputs.h"

namespace CLI {
class App;
}

namespace millrace {

struct ConfigFlags {
  std::string config;                     // path of a JobConfig
  std::vector<std::string> set;           // --set path.to.field=value
  std::optional<std::string> train_data;  // paths and patterns, separated by commas
  std::optional<std::string> eval_data;
  // The flags that give these two, for messages.
  std::string train_data_flag = "--train_data";
  std::string eval_data_flag = "--eval_data";
  std::optional<std::string> output_dir;
  std::optional<int64_t> max_steps;
  std::optional<int64_t> max_epochs;
  std::optional<uint64_t> seed;
  std::optional<int32_t> threads;
  std::optional<std::string> instruction_set;  // auto, baseline, avx2 or avx512
  std::optional<std::string> resume;           // auto, never or a path
  std::string summary;                         // path; "": none
  bool overwrite = false;                      // outputs may replace files of any kind
  std::string device = "cpu";                  // cpu, auto, cuda or cuda:N
  // True: the command can compute on a CUDA device. Other commands refuse one.
  bool uses_device = false;
};

// Returns the flags in place of the fields of data that they give.
DataNames data_names(const ConfigFlags& flags);

// Adds them to a command, but for `resume`. `flags` must live until the command line is parsed;
// `uses_device` is set before.
void add_config_flags(CLI::App& command, ConfigFlags& flags);

// Adds a repeatable option that takes paths and patterns, separated by commas; `paths` gets all of
// them in one list and must live until the command line is parsed. The parser refuses each value
// that has no path.
void add_paths_flag(CLI::App& command, const std::string& name, std::optional<std::string>& paths,
                    const std::string& description);

// A check for options of unsigned types, which the parser would wrap around.
// Returns: the complaint, or "".
std::string check_not_negative(const std::string& text);

// A check for options that name a file. Returns: the complaint, or "".
std::string check_not_empty(const std::string& text);

// Refuses a configuration that several ranks cannot all read: a pipe gives its text once.
// Errors: InvalidArgument naming it.
absl::Status check_config_file(FileSystem& files, const std::string& path, int world_size);

// Puts "PATH: " before each line of the message, and indents those after the first. OK stays OK.
absl::Status name_file(const absl::Status& status, absl::string_view path);

// Reads the configuration, applies --set and then the other flags, expands names and validates.
// Errors: those of config_reader.h and check_input_paths; InvalidArgument for a flag that does not
// fit. InvalidArgument with one line for each mistake that validate() finds and each unknown
// metric.
absl::StatusOr<JobConfig> load_config(FileSystem& files, const ConfigFlags& flags);

// Does the same with a configuration that was read before. `name` says in errors which one it is.
absl::StatusOr<JobConfig> complete_config(FileSystem& files, const ConfigFlags& flags,
                                          JobConfig config, absl::string_view name);

// Does the same as load_config for a job that is to be trained on `ranks` ranks. Errors: also the
// mistakes that check_job() finds, all in one message.
absl::StatusOr<JobConfig> load_job(FileSystem& files, const ConfigFlags& flags, int64_t ranks);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CONFIG_FLAGS_H_
