// Checks that a checkpoint belongs to the current job.
#ifndef MILLRACE_CHECKPOINT_STATE_RESUMED_JOB_CHECK_H_
#define MILLRACE_CHECKPOINT_STATE_RESUMED_JOB_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Checks that the job has the manifest's fingerprint. `fingerprint`, `config`: of the current job,
// in the form of manifests. `accept_changes`: if true, the job may differ if
// can_continue_as() (proto/config_fingerprint.h) accepts. Returns the accepted differences, such as
// "train.optimizer.learning_rate: 0.001 → 0.01". Errors: InvalidArgument listing the fields that
// differ.
absl::StatusOr<std::vector<std::string>> check_resumed_job(const CheckpointManifest& manifest,
                                                           const std::string& fingerprint,
                                                           const std::string& config,
                                                           bool accept_changes);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_RESUMED_JOB_CHECK_H_
