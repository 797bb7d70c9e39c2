// Files, other than data, that a job refers to, as manifests list them.
#ifndef MILLRACE_CHECKPOINT_FOLDER_REFERRED_FILES_H_
#define MILLRACE_CHECKPOINT_FOLDER_REFERRED_FILES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/checkpoint_manifest.pb.h"
#include "proto/config.pb.h"

namespace millrace {

// The identity of the content of a file.
struct FileIdentity {
  int64_t size_bytes = 0;
  std::string digest;  // file_digest(), formatted as in manifests

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Computes a file's identity, reading a chunk at a time. Errors: read errors; InvalidArgument for a
// pipe or a device; Aborted if the file becomes shorter while it is read.
absl::StatusOr<FileIdentity> identify_file(FileSystem& files, const std::string& path);

// Returns the entry of a file. `used_by`: the users, in the form of manifests. Errors:
// InvalidArgument for a path that is not UTF-8, which a manifest cannot contain.
absl::StatusOr<CheckpointManifest::ReferredFile> refer_to(const std::string& path,
                                                          const FileIdentity& identity,
                                                          const std::vector<std::string>& used_by);

// Returns the paths, as the job has them, of the files that transforms read, and their users in the
// form of manifests. Errors: any error of create_transform().
absl::StatusOr<std::map<std::string, std::vector<std::string>>> files_of_transforms(
    const TrainConfig& train);

// Returns the files that transforms of a job read (vocabularies, and the files that registered
// transforms list in Transform::files()), each once. Reads the files.
// Errors: any error of create_transform(), identify_file() and refer_to().
absl::StatusOr<std::vector<CheckpointManifest::ReferredFile>> find_vocabularies(
    const TrainConfig& train, FileSystem& files);

// Adds files to the referred files of a manifest, in the manifest's order, one entry per path.
void add_referred_files(const std::vector<CheckpointManifest::ReferredFile>& files,
                        CheckpointManifest* manifest);

// Checks that the files of a checkpoint's transforms have the same content as the files of the
// current job, at any path. Errors: InvalidArgument naming the files whose content differs.
absl::Status check_vocabularies(const CheckpointManifest& manifest,
                                const std::vector<CheckpointManifest::ReferredFile>& now);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_REFERRED_FILES_H_
