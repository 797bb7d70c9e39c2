// From a configuration to a trainer with its hooks.
#ifndef MILLRACE_JOB_JOB_H_
#define MILLRACE_JOB_JOB_H_

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "distributed/collectives.h"
#include "framework/trainer.h"
#include "io/dataset.h"
#include "io/files/uri_file_system.h"
#include "job/data_report.h"
#include "proto/config.pb.h"

namespace millrace {

struct JobResources {
  FileSystem& files = UriFileSystem::process();
  Clock& clock = Clock::real();
  std::ostream* log = nullptr;  // lines for people; null: none
  bool terminal = false;        // whether `log` is one
  bool colors = false;          // whether it may have colors
  // The columns of that terminal at the moment; empty: 80. Any thread may call it.
  std::function<int64_t()> columns = nullptr;
  int local_world_size = 1;  // ranks that share this machine's cores
  // The CUDA device on which the model computes, of a program built with --config=cuda; none: the
  // CPU.
  std::optional<int> cuda_device = std::nullopt;
  // See DatasetOptions.
  bool labels_may_miss = false;
  // For messages: the flag with which a command takes evaluation data, and whether it was given.
  std::string eval_data_flag = "--eval_data";
  bool eval_data_is_of_flag = false;
  std::vector<std::string> kept_columns = {};  // see FeatureSchema
  DataReport* data = nullptr;                  // gets what the data is; must outlive the trainer
};

// A trainer for `train`: opens all data, makes model, optimizers and hooks. Hooks are called in
// this order: those of job/default_hooks.h, those of train.hooks, those of run.hooks. Writes
// nothing. `collectives` are those of join_ranks; null: one rank. If there is an error, the other
// ranks hear of it. REQUIRES: `config` went through expand_names and validate. Errors: those of
// opening data and making the parts.
absl::StatusOr<std::unique_ptr<Trainer>> build_trainer(
    const JobConfig& config, const JobResources& resources,
    std::unique_ptr<Collectives> collectives = nullptr);

// A trainer for `evaluate`: evaluation sets and model only; no optimizer, no hook. Sets that come
// in windows are left out, with a line in the log, unless there is no other.
absl::StatusOr<std::unique_ptr<Trainer>> build_evaluator(
    const JobConfig& config, const JobResources& resources,
    std::unique_ptr<Collectives> collectives = nullptr);

// Returns the dataset to train on, given the one that train.train_data names.
using TrainDataChange =
    std::function<absl::StatusOr<std::unique_ptr<Dataset>>(std::unique_ptr<Dataset> configured)>;

// Returns a trainer of one rank for measuring steps: its model, optimizers, clipping, precision and
// metrics are those of the job. It has no evaluation set, hook, limit, checkpoint, event log or
// model bank. Writes nothing. `change` is called once, before the model is made.
// REQUIRES: as of build_trainer. Errors: those of `change`, of opening the training data and of
// making the parts.
absl::StatusOr<std::unique_ptr<Trainer>> build_step_trainer(const JobConfig& config,
                                                            const JobResources& resources,
                                                            const TrainDataChange& change);

// A trainer that only holds the model, for load_model: no data is opened.
absl::StatusOr<std::unique_ptr<Trainer>> build_loader(const JobConfig& config,
                                                      const JobResources& resources);

}  // namespace millrace

#endif  // MILLRACE_JOB_JOB_H_
