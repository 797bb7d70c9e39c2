// The checkpoints of a job, as its configuration says.
#ifndef MILLRACE_JOB_JOB_CHECKPOINTS_H_
#define MILLRACE_JOB_JOB_CHECKPOINTS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/progress.h"
#include "checkpoint/checkpoint_info.h"
#include "checkpoint/state/state_reader.h"
#include "checkpoint/state_saver.h"
#include "distributed/collectives.h"
#include "framework/cadence.h"
#include "proto/config.pb.h"

namespace millrace {

class DataReport;
class Trainer;

// OUTPUT_DIR/checkpoints.
std::string checkpoint_folder(const RunConfig& run);

// When run.checkpoint saves on the way.
Cadence checkpoint_cadence(const CheckpointConfig& config);

// A Saver of that folder, which also holds the lock of the output directory, for a job that does
// not save too. Borrows the arguments but for the configuration. REQUIRES: check_metric_use()
// accepts `config`. Errors: those of Saver::create() and find_vocabularies().
absl::StatusOr<std::unique_ptr<StateSaver>> create_saver(const JobConfig& config, FileSystem& files,
                                                         const Clock& clock);

// Where training begins.
struct Resumption {
  std::optional<CheckpointInfo> from;   // none: anew
  std::optional<std::string> finished;  // Trainer::finished
};

// Does what run.resume says with a trainer whose saver is that of create_saver, and what
// train.model_bank says where nothing is resumed. On all ranks.
// `print`: whether to log what comes of it, and which frozen tables have no rows.
// Errors: FailedPrecondition for a folder that is used already where run.resume asks for another
// beginning; PermissionDenied of check_output_directory; those of Trainer::resume and
// Trainer::load_model_bank.
absl::StatusOr<Resumption> resume_training(const JobConfig& config, FileSystem& files,
                                           Trainer& trainer, bool print);

// How many windows the oldest checkpoint in a folder holds that somebody could go on from; 0: none.
// Errors: those of listing.
absl::StatusOr<int64_t> oldest_window_count(FileSystem& files, const std::string& folder);

// Which weights evaluations of `train` take: the moving averages if it keeps some to evaluate.
ModelWeights default_weights(const TrainConfig& train);

struct LoadedModel {
  std::string path;   // of the checkpoint
  Progress progress;  // of training when it was written
};

// Loads parameters, buffers and rows of a checkpoint into a trainer that evaluates, all or nothing.
// `path`: a checkpoint, a folder of them, or an output directory; of several the newest of which
// every byte that is read is right. `print`: whether to log which one it is, and what was passed
// over.
// `weights`: what dense parameters are read from. `ranks`: those of the trainer, which all call
// this at the same point and load the same checkpoint, each its rows; null: there is one rank.
// `data`: the data that the model is used on; null: none. What the checkpoint was saved without
// comes from train.model_bank. Errors: NotFound; DataLoss for a damaged one; InvalidArgument
// listing how another model differs, naming vocabularies of `train` that are not what they were,
// columns of `data` that held text in training and now numbers or the reverse, or what was not
// saved and nothing gives; FailedPrecondition for averages of a checkpoint that has none; those of
// StateLoader.
absl::StatusOr<LoadedModel> load_model(const TrainConfig& train, FileSystem& files,
                                       const std::string& path, ModelWeights weights,
                                       Trainer& trainer, bool print, Collectives* ranks = nullptr,
                                       const DataReport* data = nullptr);

}  // namespace millrace

#endif  // MILLRACE_JOB_JOB_CHECKPOINTS_H_
