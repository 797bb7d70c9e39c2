// Files of any size, written and read chunk by chunk on several threads, with a digest of each
// chunk. Knows neither tensors nor checkpoints.
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
  std::unique_ptr<PositionedFile> file;  // open; to be synced and closed
};

// Writes a new file. `fill` sets the bytes from `offset` on; it is called once for each piece of
// the file, from any thread of `threads`, in any order. The bytes do not depend on the number of
// threads. Memory: a quarter of a megabyte for each thread.
// Errors: those of `fill`; those of writing. The file is to be discarded then.
absl::StatusOr<WrittenFile> write_chunks(
    FileSystem& files, const std::string& path, int64_t size_bytes,
    const std::function<absl::Status(int64_t offset, absl::Span<char> bytes)>& fill,
    ThreadPool& threads);

// Memory for chunks, used again and again: touching it for the first time costs as much as reading
// a chunk. Thread-safe.
class ChunkBuffers {
 public:
  struct Buffer {
    std::unique_ptr<char[]> bytes;
    int64_t size = 0;
  };
  // Room for at least so many bytes.
  Buffer take(int64_t bytes);
  void give_back(Buffer buffer);

 private:
  Mutex mutex_;
  std::vector<Buffer> free_ ABSL_GUARDED_BY(mutex_);
};

// A file whose chunk digests are known: what it hands out has been checked. Thread-safe.
//
//   ASSIGN_OR_RETURN(auto file, ChunkedFile::open(files, path, chunks));
//   RETURN_IF_ERROR(file->read(offset, bytes));
class ChunkedFile {
 public:
  // Borrows `buffers`, which other files may use too.
  // Errors: NotFound; DataLoss naming the path if it is not a regular file, or has another size.
  static absl::StatusOr<std::unique_ptr<ChunkedFile>> open(FileSystem& files,
                                                           const std::string& path,
                                                           FileChunks chunks,
                                                           ChunkBuffers& buffers);

  const std::string& path() const { return file_->path(); }
  int64_t size_bytes() const { return chunks_.size_bytes; }

  // Reads all chunks and hands each to `take`, from any thread of `threads`, in any order. After
  // the first error no more are begun.
  // Errors: DataLoss naming path and offset for damage; those of reading and of `take`.
  absl::Status read_all(
      const std::function<absl::Status(int64_t offset, absl::Span<const char> bytes)>& take,
      ThreadPool& threads) const;

  // The same in pieces, each handed to `take` before the chunk it is in is known to be good: for
  // what is thrown away after an error. Asks for what follows ahead of time. Chunks for which
  // `needs(offset, size)` is false are neither read nor checked; null: all are needed.
  // Errors: as read_all; of a damaged chunk the damage, whatever `take` said of it.
  absl::Status read_pieces(
      const std::function<absl::Status(int64_t offset, absl::Span<const char> bytes)>& take,
      ThreadPool& threads,
      const std::function<bool(int64_t offset, int64_t size)>& needs = nullptr) const;

  // Says that read_pieces comes soon.
  void will_need_first() const;

  // Reads any bytes; the chunks in which they are are read whole.
  // REQUIRES: they are within the file. Errors: as read_all.
  absl::Status read(int64_t offset, absl::Span<char> bytes) const;

  // The same without looking at digests. Errors: those of reading.
  absl::Status read_unchecked(int64_t offset, absl::Span<char> bytes) const;

 private:
  ChunkedFile(std::unique_ptr<ReadableFile> file, FileChunks chunks, ChunkBuffers& buffers)
      : file_(std::move(file)), chunks_(std::move(chunks)), buffers_(buffers) {}
  // REQUIRES: `buffer` has room for a chunk. Returns: the chunk's bytes.
  absl::StatusOr<absl::Span<const char>> read_chunk(int64_t chunk, char* buffer) const;
  absl::Status check_digest(int64_t chunk, const Xxh3Stream& digest) const;

  const std::unique_ptr<ReadableFile> file_;
  const FileChunks chunks_;
  ChunkBuffers& buffers_;
};

// Reads a file from front to back in pieces, each chunk once: it keeps the one it read last. Not
// thread-safe.
class ChunkCursor {
 public:
  // Borrows `file`.
  explicit ChunkCursor(const ChunkedFile& file) : file_(file) {}
  // As ChunkedFile::read.
  absl::Status read(int64_t offset, absl::Span<char> bytes);

 private:
  const ChunkedFile& file_;
  int64_t chunk_ = -1;  // in buffer_
  std::string buffer_;
};

// Reads a whole small file. Errors: NotFound; DataLoss if it is not a regular file or has more than
// `limit_bytes`; those of reading.
absl::StatusOr<std::string> read_regular_file(FileSystem& files, const std::string& path,
                                              int64_t limit_bytes);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_CHUNKED_FILE_H_
