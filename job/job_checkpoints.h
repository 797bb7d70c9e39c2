// The checkpoints of a job, according to its configuration.
#ifndef MILLRACE_JOB_JOB_CHECKPOINTS_H_
#define MILLRACE_JOB_JOB_CHECKPOINTS_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/progress.h"
#include "checkpoint/state/checkpoint_info.h"
#include "checkpoint/state/state_reader.h"
#include "checkpoint/state/state_saver.h"
#include "distributed/collectives.h"
#include "hook/cadence.h"
#include "proto/config.pb.h"
#include "proto/data_identity.pb.h"

namespace millrace {

class DataReport;
class Trainer;

// Returns run.places.checkpoints, or its default.
std::string checkpoint_folder(const RunConfig& run);
// Returns run.places.published, or its default.
std::string published_folder(const RunConfig& run);

// Returns the cadence of checkpoints during training.
Cadence checkpoint_cadence(const CheckpointConfig& config);

// Returns a Saver of checkpoint_folder(), which also holds the lock of the output directory,
// including for a job without checkpoints. Borrows `files` and `clock`. `token`: of the run, see
// JobResources. REQUIRES: `config` is of a CheckedJob.
// Errors: errors of Saver::create() and find_vocabularies().
absl::StatusOr<std::unique_ptr<StateSaver>> create_saver(const JobConfig& config, FileSystem& files,
                                                         const Clock& clock,
                                                         const std::string& token = "");

// The start of training.
struct Resumption {
  std::optional<CheckpointInfo> from;   // checkpoint that training resumes from; none: a new run
  std::optional<std::string> finished;  // Trainer::finished
};

// The rules by which a checkpoint's job read its data.
struct SavedDataRules {
  std::optional<TrainConfig> train;  // none: no checkpoint, or no configuration that can be read
  // The types to which training converted dates and times, for JobResources::time_types. Empty for
  // a checkpoint of an earlier version.
  std::map<std::string, std::string> time_types = {};
  // The files on which the checkpoint was trained; none where they are not known.
  DataIdentity data = {};
};

// Reads the checkpoint at `path`, or the newest in a folder. Returns no rules if there is none or
// `path` is empty: loading the checkpoint reports the reason.
SavedDataRules read_saved_data_rules(FileSystem& files, const std::string& path);

// Sets train.split_rule to that of `saved`, so that each example keeps its part; logs a change if
// `print`. Does nothing without a saved configuration, or if a split of both is not by
// HASH_OF_EXAMPLE.
void keep_split_rule(const SavedDataRules& saved, bool print, TrainConfig* train);

// Returns true if the file has the size and the end (io/data_identity.h) of a file of the data on
// which the checkpoint at `checkpoint`, or the newest in a folder, was trained: if it is this file
// or a copy, whatever its path. False if the checkpoint cannot be read or knows no files.
bool is_file_of_training(FileSystem& files, const std::string& checkpoint, const std::string& path);

// Returns the folder or checkpoint from which run.resume would resume; "" if it is never.
std::string resumed_path(const RunConfig& run);

// Resumes `trainer` as run.resume requires, or else loads train.model_bank. The saver of `trainer`
// must be the result of create_saver. On all ranks. `print`: if true, logs the result, and the
// frozen tables without rows.
// Errors: FailedPrecondition for a folder with checkpoints if run.resume requires another start;
// PermissionDenied of check_output_directory; errors of Trainer::resume and
// Trainer::load_model_bank.
absl::StatusOr<Resumption> resume_training(const JobConfig& config, FileSystem& files,
                                           Trainer& trainer, bool print);

// Returns the number of windows in the oldest checkpoint of a folder from which a run could resume;
// 0: none. Errors: errors of listing the folder.
absl::StatusOr<int64_t> oldest_window_count(FileSystem& files, const std::string& folder);

// Returns the weights that evaluations of `train` use: the moving averages if `train` has some for
// evaluation.
ModelWeights default_weights(const TrainConfig& train);

struct LoadedModel {
  std::string path;   // of the checkpoint
  Progress progress;  // of training when it was written
};

// Loads parameters, buffers and rows of a checkpoint into an evaluating trainer, all or nothing.
// `path`: a checkpoint, a folder of checkpoints, or an output directory. Of several checkpoints,
// loads the newest in which every byte read is correct. `print`: if true, logs the chosen
// checkpoint and the skipped ones. `weights`: source of the dense parameters. `ranks`: the ranks of
// the trainer. All ranks call the function at the same point and load the same checkpoint, each
// with its own rows. Null: a single rank. `data`: the data that the model is used on; null: none.
// State omitted by the checkpoint is loaded from train.model_bank.
// Errors: NotFound; DataLoss for a damaged checkpoint; InvalidArgument with the differences to
// another model, changed vocabularies of `train`, columns of `data` that held text in training and
// now numbers or the reverse, or omitted state without a source; FailedPrecondition for averages of
// a checkpoint without averages; errors of StateLoader.
absl::StatusOr<LoadedModel> load_model(const TrainConfig& train, FileSystem& files,
                                       const std::string& path, ModelWeights weights,
                                       Trainer& trainer, bool print, Collectives* ranks = nullptr,
                                       const DataReport* data = nullptr);

}  // namespace millrace

#endif  // MILLRACE_JOB_JOB_CHECKPOINTS_H_
