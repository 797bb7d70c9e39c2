// Whether a checkpoint is of the job at hand.
#ifndef MILLRACE_CHECKPOINT_STATE_JOB_CHECK_H_
#define MILLRACE_CHECKPOINT_STATE_JOB_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// `fingerprint`, `config`: as manifests have them.
// Errors: InvalidArgument listing the fields that differ.
absl::Status check_job(const CheckpointManifest& manifest, const std::string& fingerprint,
                       const std::string& config);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_JOB_CHECK_H_
