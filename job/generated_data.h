// The data that a job makes for itself (train.generated_data).
#ifndef MILLRACE_JOB_GENERATED_DATA_H_
#define MILLRACE_JOB_GENERATED_DATA_H_

#include <optional>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/config.pb.h"

namespace millrace {

// Describes generated data that exists as a whole.
struct GeneratedData {
  bool made = false;    // by this call; false: the files were there already
  double best_auc = 0;  // the best that is possible on the evaluation examples
};

// Makes the job read `generated_data` where the configuration names no other files. Does nothing if
// it is not configured.
void use_generated_data(TrainConfig* config);

// Makes `generated_data` if it is configured and does not exist as a whole. REQUIRES: one rank
// alone calls it. Returns: none if it is not configured. Errors: those of generate(), such as
// PermissionDenied for files that were not generated, unless `overwrite` is true.
absl::StatusOr<std::optional<GeneratedData>> make_generated_data(FileSystem& files,
                                                                 const TrainConfig& config,
                                                                 bool overwrite = false);

}  // namespace millrace

#endif  // MILLRACE_JOB_GENERATED_DATA_H_
