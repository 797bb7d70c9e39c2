// A version of a model for readers: its dense tensors and tables, as a checkpoint has them.
#ifndef MILLRACE_SERVING_MODEL_VERSION_H_
#define MILLRACE_SERVING_MODEL_VERSION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "embedding/served/served_table.h"
#include "proto/config.pb.h"

namespace millrace {

// Immutable. Versions share the configuration and the tables that they have in common; predictors
// and requests share a version.
struct ModelVersion {
  std::string path;     // of the checkpoint
  std::string digest;   // of its manifest
  std::string created;  // RFC 3339, UTC
  std::string content;  // digests of the content
  int64_t step = 0;
  std::shared_ptr<const TrainConfig> train;
  // Columns whose ids differ between text and the integers that it spells; true: training read
  // text.
  std::map<std::string, bool> text_columns;
  // Parameters and buffers. A parameter is its moving average if the job evaluates the averages
  // (train.moving_average.evaluate).
  std::map<std::string, at::Tensor> dense;
  std::map<std::string, std::shared_ptr<const ServedTable>> tables;
};

// Reads the checkpoint at `path` and its bases. Every byte is checked. Memory: the version and some
// chunks. Errors: any error of open_chain(); InvalidArgument for a checkpoint without rows or dense
// tensors, or whose vocabularies have another content now; DataLoss for damage; read errors.
absl::StatusOr<std::shared_ptr<const ModelVersion>> load_version(FileSystem& files,
                                                                 const std::string& path);
// As above, of an opened chain (open_chain()).
absl::StatusOr<std::shared_ptr<const ModelVersion>> load_version(
    FileSystem& files, absl::Span<const std::unique_ptr<CheckpointReader>> chain);

// Returns `version` after the deltas `deltas`, oldest first; the first one's base is `version`.
// Memory: the changed rows. Errors: as load_version(); InvalidArgument for a delta of another base.
absl::StatusOr<std::shared_ptr<const ModelVersion>> apply_deltas(
    std::shared_ptr<const ModelVersion> version,
    absl::Span<const std::unique_ptr<CheckpointReader>> deltas);

// Returns `version` as the one of `checkpoint` if both have the same step and content; else null.
std::shared_ptr<const ModelVersion> same_content(const ModelVersion& version,
                                                 const CheckpointReader& checkpoint);

// Returns true if the features, tables, tasks and model of two jobs are equal, and whether they
// evaluate moving averages: then a model of one computes with the tensors of the other.
bool have_one_model(const TrainConfig& a, const TrainConfig& b);

// Returns the version with one placement part of each table merged (ServedTable::merged()), with
// the same content; null if no table has an overlay in the part.
std::shared_ptr<const ModelVersion> merge_part(const ModelVersion& version, int part);

}  // namespace millrace

#endif  // MILLRACE_SERVING_MODEL_VERSION_H_
