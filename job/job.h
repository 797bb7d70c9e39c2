// Builds a trainer with its hooks from a configuration.
#ifndef MILLRACE_JOB_JOB_H_
#define MILLRACE_JOB_JOB_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "checkpoint/objects/object_files.h"
#include "distributed/collectives.h"
#include "framework/trainer.h"
#include "io/dataset.h"
#include "io/windowed_dataset.h"
#include "job/checked_job.h"
#include "job/data_report.h"
#include "proto/config.pb.h"
#include "sinks/configured_sinks.h"

namespace millrace {

class RankActivity;
class StatusFile;

struct JobResources {
  FileSystem& files = ObjectFiles::process();
  Clock& clock = Clock::real();
  std::ostream* log = nullptr;  // lines for people; null: none
  bool terminal = false;        // true if `log` is a terminal
  bool colors = false;          // true if `log` may have colors
  // Returns the current number of columns of the terminal; empty: 80. Any thread may call the
  // function.
  std::function<int64_t()> columns = nullptr;
  int local_world_size = 1;  // ranks that share this machine's cores
  int local_rank = 0;        // number of this rank among them
  // The CUDA device of the model, in a program built with --config=cuda. None: the CPU.
  std::optional<int> cuda_device = std::nullopt;
  // See DatasetOptions.
  bool labels_may_miss = false;
  std::map<std::string, std::string> time_types = {};  // see SavedDataRules
  // The flag with which a command takes evaluation data, for messages, and whether the flag was
  // given.
  std::string eval_data_flag = "--eval_data";
  bool eval_data_is_of_flag = false;
  std::vector<std::string> kept_columns = {};  // see FeatureSchema
  DataReport* data = nullptr;                  // filled with the data; must outlive the trainer
  // Taken by build_trainer(), which makes the sinks that are not among them. Null: none.
  ListeningSinks* listening = nullptr;
  // Gets the progress of training; must outlive the trainer. Null: none.
  RankActivity* activity = nullptr;
  // Started on rank 0 when the output directory exists; must outlive the trainer. Null: none.
  StatusFile* status = nullptr;
  // The token of the run in the locks of its directories (check_owner() in
  // checkpoint/folder/directory_lock.h). "": a new one.
  std::string token = "";
};

// Returns a trainer for `train`: opens all data, builds model, optimizers and hooks. Hooks are
// called in this order: the schedule monitor, job/default_hooks.h, train.hooks, run.hooks. Writes
// nothing. `collectives`:
// the result of join_ranks; null: one rank. An error is also reported to the other ranks.
// Errors: errors of opening data and building the parts; FailedPrecondition for a job that was
// checked for another use than kTraining.
absl::StatusOr<std::unique_ptr<Trainer>> build_trainer(
    const CheckedJob& job, const JobResources& resources,
    std::unique_ptr<Collectives> collectives = nullptr);

// Returns a trainer for `evaluate` and `predict`: evaluation sets and model only, no optimizer and
// no hook. Of a set in windows the windows that are ready are evaluated. REQUIRES: `config` is of a
// CheckedJob, or of a checkpoint.
absl::StatusOr<std::unique_ptr<Trainer>> build_evaluator(
    const JobConfig& config, const JobResources& resources,
    std::unique_ptr<Collectives> collectives = nullptr);

// Returns the dataset to train on, given the dataset that train.train_data names.
using TrainDataChange =
    std::function<absl::StatusOr<std::unique_ptr<Dataset>>(std::unique_ptr<Dataset> configured)>;

// Returns a trainer of one rank for measuring steps. Its model, optimizers, clipping, precision and
// metrics are configured by the job. The trainer has no evaluation set, hook, limit, checkpoint,
// event log or model bank. Writes nothing. `change` is called once, before the model is built.
// Errors: errors of `change`, of opening the training data and of building the parts.
absl::StatusOr<std::unique_ptr<Trainer>> build_step_trainer(const CheckedJob& job,
                                                            const JobResources& resources,
                                                            const TrainDataChange& change);

// Returns a trainer of one rank for trying a job: training data, evaluation sets without windows,
// model, optimizers, metrics and model bank of the job, but no hook, limit, checkpoint and event
// log. Writes nothing. Errors: of opening the data and of building the parts.
absl::StatusOr<std::unique_ptr<Trainer>> build_trial_trainer(const CheckedJob& job,
                                                             const JobResources& resources);

// Data of a job without a trainer.
struct JobDataset {
  std::shared_ptr<Collectives> collectives;  // used by data in windows
  std::unique_ptr<Dataset> data;
  WindowedDataset* windows = nullptr;  // `data`, if it comes in windows
};

// Opens the share of rank `rank` of `world_size` of the training data (`set` "train"), in batches
// of this rank, or of the evaluation set with this name. Exchanges nothing with other ranks.
// Errors: errors of opening files; InvalidArgument for a batch size that the ranks do not divide
// and for training data in windows with `world_size` > 1; NotFound for a set that the job does not
// have.
absl::StatusOr<JobDataset> open_job_data(const CheckedJob& job, const JobResources& resources,
                                         absl::string_view set, int rank, int world_size);

// Makes the model, the optimizers, the metrics and the hooks of `job` as build_trainer() does,
// and destroys them. Reads only vocabularies, for SliceConfig.text. Writes nothing, runs no plugin
// and does not check the batch size, which depends on the number of ranks.
// Returns: parts that were not made, with the reason: hooks of plugins, texts of slices whose
// vocabulary is missing on this machine, schedules if one has a share of steps or examples that
// training counts, or everything if the machine lacks the memory or threads for the model.
// Errors: errors of building these parts.
absl::StatusOr<std::vector<std::string>> check_parts(const CheckedJob& job,
                                                     const JobResources& resources);

// Returns a trainer with only the model, for load_model. Opens no data. REQUIRES: see
// build_evaluator.
absl::StatusOr<std::unique_ptr<Trainer>> build_loader(const JobConfig& config,
                                                      const JobResources& resources);

}  // namespace millrace

#endif  // MILLRACE_JOB_JOB_H_
