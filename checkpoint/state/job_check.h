// Checks that a checkpoint belongs to the current job.
#ifndef MILLRACE_CHECKPOINT_STATE_JOB_CHECK_H_
#define MILLRACE_CHECKPOINT_STATE_JOB_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Checks that the job has the manifest's fingerprint. `fingerprint`, `config`: of the current job,
// in the form of manifests. Errors: InvalidArgument listing the fields that differ.
absl::Status check_job(const CheckpointManifest& manifest, const std::string& fingerprint,
                       const std::string& config);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_JOB_CHECK_H_
