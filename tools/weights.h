// The weights of a trainer in a file, until checkpoints hold everything.
#ifndef MILLRACE_TOOLS_WEIGHTS_H_
#define MILLRACE_TOOLS_WEIGHTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/progress.h"

namespace millrace {

class Trainer;

// The name of the file in an output directory.
inline constexpr char kWeightsFile[] = "weights.safetensors";

// Writes dense parameters, buffers and the rows of all tables; see docs/weights_file.md. The file
// holds either its old or its whole new content.
absl::Status save_trainer_weights(FileSystem& files, const std::string& path, Trainer& trainer);

struct LoadedWeights {
  std::string path;   // of the file
  Progress progress;  // of training when it was written, without the time
};

// Reads them back, all or nothing. `path` is a weights file or a directory that holds
// weights.safetensors.
// Errors: NotFound; DataLoss for a damaged file; InvalidArgument for one of another model.
absl::StatusOr<LoadedWeights> load_trainer_weights(FileSystem& files, const std::string& path,
                                                   Trainer& trainer);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_WEIGHTS_H_
