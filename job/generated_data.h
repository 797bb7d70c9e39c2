// The data that a job generates (train.generated_data).
#ifndef MILLRACE_JOB_GENERATED_DATA_H_
#define MILLRACE_JOB_GENERATED_DATA_H_

#include <optional>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/config.pb.h"

namespace millrace {

// Description of complete generated data.
struct GeneratedData {
  bool made = false;    // true if this call generated the files; false if they existed
  double best_auc = 0;  // the best possible AUC on the evaluation examples
};

// Makes the job read `generated_data` where the configuration names no other files. Does nothing if
// `generated_data` is not configured.
void use_generated_data(TrainConfig* config);

// Generates `generated_data` if configured and not complete. REQUIRES: only one rank calls the
// function. Returns: none if not configured. Errors: errors of generate(), such as PermissionDenied
// for files that were not generated, unless `overwrite` is true.
absl::StatusOr<std::optional<GeneratedData>> make_generated_data(FileSystem& files,
                                                                 const TrainConfig& config,
                                                                 bool overwrite = false);

}  // namespace millrace

#endif  // MILLRACE_JOB_GENERATED_DATA_H_
