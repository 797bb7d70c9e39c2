// Reads the files of one checkpoint. Does not depend on LibTorch or tables.
#ifndef MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_READER_H_
#define MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_READER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/format/chunk_digests.h"
#include "checkpoint/format/chunked_file.h"
#include "checkpoint/format/tensor_file_layout.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// One checkpoint directory. All returned bytes have been checked against the digests in the
// manifest. Thread-safe.
//
//   ASSIGN_OR_RETURN(auto checkpoint, CheckpointReader::open(files, "checkpoints/step-00001000"));
//   for (const auto& file : checkpoint->manifest().files()) {
//     RETURN_IF_ERROR(checkpoint->read_tensors(file, take, threads));
//   }
class CheckpointReader {
 public:
  using File = CheckpointManifest::File;

  // Opens a checkpoint. Checks everything except the data: manifest, names, kinds and sizes of
  // files, chunks files. Borrows `files`.
  // Errors: NotFound if the directory does not exist, or has no manifest and not the name of a
  // checkpoint; DataLoss naming the file and the mistake; Unimplemented for a newer format; read
  // errors.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> open(FileSystem& files,
                                                                const std::string& directory);

  // Reads the manifest alone, even if other files are damaged. Errors: as open().
  static absl::StatusOr<CheckpointManifest> read_manifest(FileSystem& files,
                                                          const std::string& directory);

  const std::string& directory() const { return directory_; }
  const CheckpointManifest& manifest() const { return manifest_; }

  // Opens a file that the manifest lists. Borrows this reader. Errors: any error of ChunkedFile.
  absl::StatusOr<std::unique_ptr<ChunkedFile>> open_file(const File& file) const;

  // Returns the header of a safetensors file. Errors: any error of open_file(); DataLoss if the
  // header differs from the manifest.
  absl::StatusOr<TensorFileLayout> layout(const File& file) const;

  // Reads a safetensors file and passes all bytes of its tensors to `take`, in pieces, from any
  // thread of `threads`, in any order.
  // Errors: any error of layout() and of ChunkedFile::read_all(); some pieces may have been passed
  // before.
  absl::Status read_tensors(const File& file, const TensorFileLayout::Take& take,
                            ThreadPool& threads) const;

  // Returns the whole content of a file. Errors: any error of open_file() and of reading;
  // ResourceExhausted for more than `limit_bytes`.
  absl::StatusOr<std::string> read_all(const File& file, int64_t limit_bytes) const;

  // Reads every byte. Errors: DataLoss naming the first file that is damaged, and where.
  absl::Status verify(ThreadPool& threads) const;

 private:
  CheckpointReader(FileSystem& files, const std::string& directory)
      : files_(files), directory_(directory) {}
  std::string path(const File& file) const { return join_path(directory_, file.name()); }
  absl::Status check_entries() const;
  absl::Status read_chunks();
  absl::StatusOr<TensorFileLayout> layout(const File& file, const ChunkedFile& opened) const;

  FileSystem& files_;
  const std::string directory_;
  CheckpointManifest manifest_;
  std::map<std::string, FileChunks> chunks_;  // by name of file; chunks files too
  mutable ChunkBuffers buffers_;
};

// A checkpoint after all its bases: the whole checkpoint first, then each delta on the checkpoint
// before.
using CheckpointChain = absl::Span<const std::unique_ptr<CheckpointReader>>;

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_READER_H_
