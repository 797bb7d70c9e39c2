// Reuse of data files when a checkpoint of the same step is replaced.
#ifndef MILLRACE_CHECKPOINT_FOLDER_KEPT_FILES_H_
#define MILLRACE_CHECKPOINT_FOLDER_KEPT_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/format/chunk_digests.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// The files of a checkpoint that is about to be replaced. Used by one thread.
//
//   ASSIGN_OR_RETURN(const auto kept, KeptFiles::open(files, "checkpoints/step-00001000"));
//   if (auto chunks = kept->match("dense-00000-of-00001.safetensors", size, fill, threads)) {
//     ... link the file into the new checkpoint instead of writing it ...
//   }
class KeptFiles {
 public:
  // Sets the bytes from `offset` on, as for write_chunks (checkpoint/format/chunked_file.h).
  using Fill = std::function<absl::Status(int64_t offset, absl::Span<char> bytes)>;

  // Opens the checkpoint in `directory`. Borrows `files`. Errors: any error of
  // CheckpointReader::open(); errors of reading the chunks files.
  static absl::StatusOr<std::unique_ptr<KeptFiles>> open(FileSystem& files,
                                                         const std::string& directory);

  // Returns the digests of the file `name` if `fill` gives exactly its bytes and it is undamaged;
  // none otherwise. Reads the file up to the first difference.
  std::optional<FileChunks> match(const std::string& name, int64_t size_bytes, const Fill& fill,
                                  ThreadPool& threads) const;

  // Returns the number of bytes that a checkpoint of `content` will probably keep: the sizes of the
  // data files whose tables or dense tensors have the same content digest, if both checkpoints are
  // written alike. Reads no file.
  int64_t expected_bytes(const CheckpointManifest& content) const;

 private:
  explicit KeptFiles(std::unique_ptr<CheckpointReader> reader) : reader_(std::move(reader)) {}

  const std::unique_ptr<CheckpointReader> reader_;
  std::map<std::string, FileChunks> chunks_;  // by name of file
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_KEPT_FILES_H_
