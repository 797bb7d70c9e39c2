// The one road from a configuration to a job.
#ifndef MILLRACE_JOB_CHECKED_JOB_H_
#define MILLRACE_JOB_CHECKED_JOB_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "job/input_paths.h"
#include "proto/config.pb.h"

namespace millrace {

// A configuration that was read, changed, completed by the files that it includes and by
// environment variables (proto/config_variables.h; secrets stay variables), expanded and found
// valid, in this order. Only load() and check() make one, so that whoever builds a trainer has
// passed all rules of its use:
//
//   ASSIGN_OR_RETURN(const CheckedJob job, CheckedJob::load(files, "job.textproto"));
//   ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, build_trainer(job, resources));
//
// A value: copies are independent.
class CheckedJob {
 public:
  // The use of the configuration, which determines the rules.
  enum class Use {
    kTraining,  // all rules
    // Only the model and the data are built: of check_job() only check_report() runs, plugins are
    // left out, and build_trainer() refuses the job.
    kModel,
  };
  struct Options {
    Use use = Use::kTraining;
    int64_t ranks = 1;  // of training
    // Changes the configuration as it was read, before names are expanded; null: no change.
    std::function<absl::Status(JobConfig* config)> change = nullptr;
    DataNames data_names = {};  // for messages
  };

  // Reads a configuration in text format, applies `change`, expands names and checks all rules.
  // Errors: errors of read_job_config() and of `change`; as check().
  static absl::StatusOr<CheckedJob> load(FileSystem& files, const std::string& path,
                                         const Options& options);
  static absl::StatusOr<CheckedJob> load(FileSystem& files, const std::string& path);
  // Does the same with a configuration in memory, whose name in errors is `name`, but keeps
  // train.split_rule as it is.
  // Errors: InvalidArgument with a line for each mistake, which begins with `name`; NotFound of
  // check_input_paths().
  static absl::StatusOr<CheckedJob> check(FileSystem& files, JobConfig config,
                                          absl::string_view name, const Options& options);
  static absl::StatusOr<CheckedJob> check(FileSystem& files, JobConfig config,
                                          absl::string_view name);

  // Returns Options::use, by whose rules the configuration was checked.
  Use use() const { return use_; }
  const JobConfig& config() const { return config_; }
  const TrainConfig& train() const { return config_.train(); }

  // Sets train.split_rule, every value of which is valid.
  void set_split_rule(TrainConfig::SplitRule rule) {
    config_.mutable_train()->set_split_rule(rule);
  }

 private:
  CheckedJob(JobConfig config, Use use) : config_(std::move(config)), use_(use) {}

  JobConfig config_;
  Use use_;
};

// Prepends "PATH: " to each line of the message, and indents the lines after the first. OK is
// unchanged.
absl::Status name_file(const absl::Status& status, absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_JOB_CHECKED_JOB_H_
