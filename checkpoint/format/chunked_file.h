// Files of any size, written and read chunk by chunk on several threads, with a digest of each
// chunk. Independent of tensors and checkpoints.
#ifndef MILLRACE_CHECKPOINT_FORMAT_CHUNKED_FILE_H_
#define MILLRACE_CHECKPOINT_FORMAT_CHUNKED_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/thread_pool.h"
#include "checkpoint/format/chunk_digests.h"

namespace millrace {

// A file that has been written but may not be on disk yet.
struct WrittenFile {
  FileChunks chunks;
  std::unique_ptr<PositionedFile> file;  // open; the caller syncs and closes it
};

// Writes a new file. `fill` sets the bytes from `offset` on; it is called once per piece of the
// file, from any thread of `threads`, in any order. The bytes do not depend on the number of
// threads. Memory: a quarter of a megabyte per thread.
// Errors: any error of `fill`; write errors. After an error the caller discards the file.
absl::StatusOr<WrittenFile> write_chunks(
    FileSystem& files, const std::string& path, int64_t size_bytes,
    const std::function<absl::Status(int64_t offset, absl::Span<char> bytes)>& fill,
    ThreadPool& threads);

// A pool of buffers for chunks. Reuse matters: the first access to fresh memory costs as much as
// reading a chunk. Thread-safe.
class ChunkBuffers {
 public:
  struct Buffer {
    std::unique_ptr<char[]> bytes;
    int64_t size = 0;
  };
  // Returns a buffer of at least `bytes` bytes.
  Buffer take(int64_t bytes);
  void give_back(Buffer buffer);

 private:
  Mutex mutex_;
  std::vector<Buffer> free_ ABSL_GUARDED_BY(mutex_);
};

// A file with known chunk digests. All bytes that it returns have been checked. Thread-safe.
//
//   ASSIGN_OR_RETURN(auto file, ChunkedFile::open(files, path, chunks));
//   RETURN_IF_ERROR(file->read(offset, bytes));
class ChunkedFile {
 public:
  // Opens a file. Borrows `buffers`, which other files may use too. Errors: NotFound; DataLoss
  // naming the path if the file is not regular or has another size.
  static absl::StatusOr<std::unique_ptr<ChunkedFile>> open(FileSystem& files,
                                                           const std::string& path,
                                                           FileChunks chunks,
                                                           ChunkBuffers& buffers);

  const std::string& path() const { return file_->path(); }
  int64_t size_bytes() const { return chunks_.size_bytes; }

  // Reads all chunks and passes each to `take`, from any thread of `threads`, in any order. After
  // the first error no further chunks are begun.
  // Errors: DataLoss naming path and offset for damage; read errors; any error of `take`.
  absl::Status read_all(
      const std::function<absl::Status(int64_t offset, absl::Span<const char> bytes)>& take,
      ThreadPool& threads) const;

  // Reads all chunks in pieces, and passes each piece to `take` before its chunk has been checked:
  // for callers that discard all data after an error. Requests the next data from the system ahead
  // of time. Chunks for which `needs(offset, size)` is false are neither read nor checked; null:
  // all are needed.
  // Errors: as read_all(); for a damaged chunk the damage, even if `take` failed in the chunk.
  absl::Status read_pieces(
      const std::function<absl::Status(int64_t offset, absl::Span<const char> bytes)>& take,
      ThreadPool& threads,
      const std::function<bool(int64_t offset, int64_t size)>& needs = nullptr) const;

  // Announces an imminent call of read_pieces().
  void will_need_first() const;

  // Reads any bytes; chunks that contain some of the bytes are read whole. REQUIRES: the bytes are
  // within the file. Errors: as read_all().
  absl::Status read(int64_t offset, absl::Span<char> bytes) const;

  // Reads any bytes without checking digests. Errors: read errors.
  absl::Status read_unchecked(int64_t offset, absl::Span<char> bytes) const;

 private:
  ChunkedFile(std::unique_ptr<ReadableFile> file, FileChunks chunks, ChunkBuffers& buffers)
      : file_(std::move(file)), chunks_(std::move(chunks)), buffers_(buffers) {}
  // Returns the chunk's bytes. REQUIRES: `buffer` has room for a chunk.
  absl::StatusOr<absl::Span<const char>> read_chunk(int64_t chunk, char* buffer) const;
  absl::Status check_digest(int64_t chunk, const Xxh3Stream& digest) const;

  const std::unique_ptr<ReadableFile> file_;
  const FileChunks chunks_;
  ChunkBuffers& buffers_;
};

// Reads a file from front to back in pieces, and each chunk once: keeps the last chunk that it
// read. Not thread-safe.
class ChunkCursor {
 public:
  // Borrows `file`.
  explicit ChunkCursor(const ChunkedFile& file) : file_(file) {}
  // Reads as ChunkedFile::read() does.
  absl::Status read(int64_t offset, absl::Span<char> bytes);

 private:
  const ChunkedFile& file_;
  int64_t chunk_ = -1;  // in buffer_
  std::string buffer_;
};

// Reads a whole small file. Errors: NotFound; DataLoss if the file is not regular or has more than
// `limit_bytes`; read errors.
absl::StatusOr<std::string> read_regular_file(FileSystem& files, const std::string& path,
                                              int64_t limit_bytes);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_CHUNKED_FILE_H_
