// Files that a job refers to beside its data, as manifests name them.
#ifndef MILLRACE_CHECKPOINT_FOLDER_REFERRED_FILES_H_
#define MILLRACE_CHECKPOINT_FOLDER_REFERRED_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "checkpoint/folder/file_identity.h"
#include "proto/checkpoint_manifest.pb.h"
#include "proto/config.pb.h"

namespace millrace {

// `used_by`: as manifests have it. Errors: InvalidArgument for a path that is not UTF-8, which
// manifests cannot hold.
absl::StatusOr<CheckpointManifest::ReferredFile> refer_to(const std::string& path,
                                                          const FileIdentity& identity,
                                                          const std::vector<std::string>& used_by);

// Returns the files that transforms of a job read (vocabularies, and what registered transforms
// list in Transform::files()), each once. Reads them. Errors: those of create_transform(),
// identify_file() and refer_to().
absl::StatusOr<std::vector<CheckpointManifest::ReferredFile>> find_vocabularies(
    const TrainConfig& train, FileSystem& files);

// Adds files to those that a manifest refers to, in its order; of one path there is one.
void add_referred_files(const std::vector<CheckpointManifest::ReferredFile>& files,
                        CheckpointManifest* manifest);

// Checks that the files of transforms of a checkpoint have the content of those of the job at hand,
// wherever they lie. Errors: InvalidArgument naming those whose content differs.
absl::Status check_vocabularies(const CheckpointManifest& manifest,
                                const std::vector<CheckpointManifest::ReferredFile>& now);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_REFERRED_FILES_H_
