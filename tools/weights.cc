#include "tools/weights.h"

#include <torch/nn/module.h>

#include <vector>

#include "base/status_macros.h"
#include "checkpoint/weights_file.h"
#include "embedding/embedding_collection.h"
#include "framework/guarded.h"
#include "framework/model.h"
#include "framework/trainer.h"

namespace millrace {
namespace {

std::vector<NamedParameter> dense_tensors(Trainer& trainer) {
  std::vector<NamedParameter> tensors = trainer.parameters();
  for (const auto& buffer : trainer.model().named_buffers()) {
    tensors.push_back({buffer.key(), buffer.value()});
  }
  return tensors;
}

std::vector<EmbeddingTable*> tables(const Trainer& trainer) {
  std::vector<EmbeddingTable*> tables;
  for (const EmbeddingCollection* collection : trainer.collections()) {
    for (const auto& table : collection->tables()) tables.push_back(table.get());
  }
  return tables;
}

}  // namespace

absl::Status save_trainer_weights(FileSystem& files, const std::string& path, Trainer& trainer) {
  WeightsInfo info;
  info.progress = trainer.progress();
  return guarded("copying the weights", [&] {
    return save_weights(files, path, dense_tensors(trainer), tables(trainer), info);
  });
}

absl::StatusOr<LoadedWeights> load_trainer_weights(FileSystem& files, const std::string& path,
                                                   Trainer& trainer) {
  ASSIGN_OR_RETURN(const FileInfo info, files.info(path));
  const std::string file = info.is_directory ? join_path(path, kWeightsFile) : path;
  LoadedWeights loaded{file, {}};
  RETURN_IF_ERROR(guarded("copying the weights", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const WeightsInfo weights,
                     load_weights(files, file, dense_tensors(trainer), tables(trainer)));
    loaded.progress = weights.progress;
    return absl::OkStatus();
  }));
  return loaded;
}

}  // namespace millrace
