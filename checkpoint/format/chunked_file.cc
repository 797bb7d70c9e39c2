#include "checkpoint/format/chunked_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

absl::string_view as_text(absl::Span<const char> bytes) { return {bytes.data(), bytes.size()}; }

// A chunk is processed in pieces that fit into the processor's cache.
constexpr int64_t kPieceBytes = 256 << 10;
// Number of chunks that are requested from the disk ahead of reading.
constexpr int64_t kChunksAhead = 3;

// Calls `each(chunk)` for every chunk of a file. Returns the error of the lowest chunk that failed.
absl::Status for_each_chunk(int64_t size_bytes, ThreadPool& threads,
                            const std::function<absl::Status(int64_t chunk)>& each) {
  const int64_t count = chunk_count(size_bytes);
  std::atomic<bool> failed{false};
  Mutex mutex;
  int64_t failed_chunk = count;
  absl::Status status;
  threads.parallel_for(count, [&](int64_t chunk) {
    if (failed) return;
    const absl::Status done = catch_exceptions([&] { return each(chunk); });
    if (done.ok()) return;
    failed = true;
    MutexLock lock(mutex);
    if (chunk < failed_chunk) {
      failed_chunk = chunk;
      status = done;
    }
  });
  return status;
}

// Calls `each(offset, count)` for the pieces of a chunk.
template <typename Each>
absl::Status for_each_piece(int64_t size_bytes, int64_t chunk, const Each& each) {
  const int64_t begin = chunk * kChunkBytes, end = begin + chunk_size(size_bytes, chunk);
  for (int64_t offset = begin; offset < end; offset += kPieceBytes) {
    RETURN_IF_ERROR(each(offset, std::min(kPieceBytes, end - offset)));
  }
  return absl::OkStatus();
}

// A buffer that returns to its pool when the object is destroyed.
class LentBuffer {
 public:
  LentBuffer(ChunkBuffers& buffers, int64_t bytes)
      : buffers_(buffers), buffer_(buffers.take(bytes)) {}
  ~LentBuffer() { buffers_.give_back(std::move(buffer_)); }
  char* get() { return buffer_.bytes.get(); }

 private:
  ChunkBuffers& buffers_;
  ChunkBuffers::Buffer buffer_;
};

absl::Status check_regular(const std::string& path, const FileInfo& info) {
  if (info.kind == FileKind::kRegular) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, info.kind == FileKind::kSymbolicLink
                                                    ? " is a symbolic link"
                                                    : " is not a regular file"));
}

}  // namespace

absl::StatusOr<WrittenFile> write_chunks(
    FileSystem& files, const std::string& path, int64_t size_bytes,
    const std::function<absl::Status(int64_t offset, absl::Span<char> bytes)>& fill,
    ThreadPool& threads) {
  WrittenFile written;
  written.chunks = {base_name(path), size_bytes};
  written.chunks.digests.resize(chunk_count(size_bytes));
  ASSIGN_OR_RETURN(written.file, files.create_new(path, size_bytes));
  auto write_chunk = [&](int64_t chunk) -> absl::Status {
    const std::unique_ptr<char[]> buffer(new char[std::min(kPieceBytes, size_bytes)]);
    Xxh3Stream digest;
    RETURN_IF_ERROR(for_each_piece(size_bytes, chunk, [&](int64_t offset, int64_t count) {
      const absl::Span<char> bytes(buffer.get(), count);
      const absl::Status filled = fill(offset, bytes);
      if (!filled.ok()) return filled;
      digest.update(as_text(bytes));
      return written.file->write_at(offset, as_text(bytes));
    }));
    written.chunks.digests[chunk] = digest.digest();
    // Starts the write to disk now, so that the sync at the end has less to wait for.
    written.file->start_writeback(chunk * kChunkBytes, chunk_size(size_bytes, chunk));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(for_each_chunk(size_bytes, threads, [&](int64_t chunk) {
    const absl::Status status = catch_exceptions([&] { return write_chunk(chunk); });
    if (!status.ok()) written.file->abandon(status);
    return status;
  }));
  return written;
}

ChunkBuffers::Buffer ChunkBuffers::take(int64_t bytes) {
  {
    MutexLock lock(mutex_);
    while (!free_.empty()) {
      Buffer buffer = std::move(free_.back());
      free_.pop_back();
      if (buffer.size >= bytes) return buffer;
    }
  }
  return {std::unique_ptr<char[]>(new char[bytes]), bytes};
}

void ChunkBuffers::give_back(Buffer buffer) {
  MutexLock lock(mutex_);
  free_.push_back(std::move(buffer));
}

absl::StatusOr<std::unique_ptr<ChunkedFile>> ChunkedFile::open(FileSystem& files,
                                                               const std::string& path,
                                                               FileChunks chunks,
                                                               ChunkBuffers& buffers) {
  ASSIGN_OR_RETURN(const FileInfo info, files.link_info(path));
  RETURN_IF_ERROR(check_regular(path, info));
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  if (file->size_bytes() != chunks.size_bytes) {
    return absl::DataLossError(absl::StrCat(path, " has ", file->size_bytes(), " bytes; ",
                                            chunks.size_bytes, " were written"));
  }
  return std::unique_ptr<ChunkedFile>(new ChunkedFile(std::move(file), std::move(chunks), buffers));
}

absl::Status ChunkedFile::read_all(
    const std::function<absl::Status(int64_t offset, absl::Span<const char> bytes)>& take,
    ThreadPool& threads) const {
  return for_each_chunk(chunks_.size_bytes, threads, [&](int64_t chunk) -> absl::Status {
    LentBuffer buffer(buffers_, chunk_size(chunks_.size_bytes, chunk));
    ASSIGN_OR_RETURN(const auto bytes, read_chunk(chunk, buffer.get()));
    return take(chunk * kChunkBytes, bytes);
  });
}

absl::Status ChunkedFile::read_pieces(
    const std::function<absl::Status(int64_t offset, absl::Span<const char> bytes)>& take,
    ThreadPool& threads, const std::function<bool(int64_t offset, int64_t size)>& needs) const {
  const auto is_needed = [&](int64_t chunk) {
    return chunk * kChunkBytes < chunks_.size_bytes &&
           (needs == nullptr || needs(chunk * kChunkBytes, chunk_size(chunks_.size_bytes, chunk)));
  };
  return for_each_chunk(chunks_.size_bytes, threads, [&](int64_t chunk) -> absl::Status {
    // Threads read chunks in ascending order, so no thread has begun this chunk.
    const int64_t ahead = chunk + std::max<int64_t>(kChunksAhead, threads.threads());
    if (is_needed(ahead)) file_->will_need(ahead * kChunkBytes, kChunkBytes);
    if (!is_needed(chunk)) return absl::OkStatus();
    LentBuffer buffer(buffers_, std::min(kPieceBytes, chunks_.size_bytes));
    Xxh3Stream digest;
    absl::Status taken;
    RETURN_IF_ERROR(for_each_piece(
        chunks_.size_bytes, chunk, [&](int64_t offset, int64_t count) -> absl::Status {
          const absl::Span<char> piece(buffer.get(), count);
          RETURN_IF_ERROR(read_unchecked(offset, piece));
          digest.update(as_text(piece));
          // The digest of these bytes is not known yet. Damage is reported rather than the error
          // that it causes in `take`, so this error waits.
          if (taken.ok()) taken = catch_exceptions([&] { return take(offset, piece); });
          return absl::OkStatus();
        }));
    RETURN_IF_ERROR(check_digest(chunk, digest));
    return taken;
  });
}

void ChunkedFile::will_need_first() const {
  file_->will_need(0, std::min(kChunksAhead * kChunkBytes, chunks_.size_bytes));
}

absl::Status ChunkedFile::read(int64_t offset, absl::Span<char> bytes) const {
  std::optional<LentBuffer> buffer;  // for chunks that are needed in part
  while (!bytes.empty()) {
    const int64_t chunk = offset / kChunkBytes, at = offset - chunk * kChunkBytes;
    const int64_t size = chunk_size(chunks_.size_bytes, chunk);
    const int64_t count = std::min<int64_t>(bytes.size(), size - at);
    if (count == size) {
      RETURN_IF_ERROR(read_chunk(chunk, bytes.data()).status());
    } else {
      if (!buffer) buffer.emplace(buffers_, size);
      ASSIGN_OR_RETURN(const auto from, read_chunk(chunk, buffer->get()));
      std::memcpy(bytes.data(), from.data() + at, count);
    }
    bytes.remove_prefix(count);
    offset += count;
  }
  return absl::OkStatus();
}

absl::Status ChunkedFile::read_unchecked(int64_t offset, absl::Span<char> bytes) const {
  ASSIGN_OR_RETURN(const int64_t count, file_->read_at(offset, bytes.size(), bytes.data()));
  if (count == static_cast<int64_t>(bytes.size())) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path(), " ends at byte ", offset + count, "; ",
                                          chunks_.size_bytes, " were written"));
}

absl::StatusOr<absl::Span<const char>> ChunkedFile::read_chunk(int64_t chunk, char* buffer) const {
  const int64_t begin = chunk * kChunkBytes;
  const absl::Span<char> bytes(buffer, chunk_size(chunks_.size_bytes, chunk));
  Xxh3Stream digest;
  RETURN_IF_ERROR(for_each_piece(chunks_.size_bytes, chunk, [&](int64_t offset, int64_t count) {
    const absl::Span<char> piece = bytes.subspan(offset - begin, count);
    const absl::Status status = read_unchecked(offset, piece);
    if (status.ok()) digest.update(as_text(piece));
    return status;
  }));
  RETURN_IF_ERROR(check_digest(chunk, digest));
  return bytes;
}

absl::Status ChunkedFile::check_digest(int64_t chunk, const Xxh3Stream& digest) const {
  if (digest.digest() == chunks_.digests[chunk]) return absl::OkStatus();
  const int64_t begin = chunk * kChunkBytes;
  return absl::DataLossError(absl::StrCat(path(), " is damaged between bytes ", begin, " and ",
                                          begin + chunk_size(chunks_.size_bytes, chunk) - 1,
                                          ": their digest is another"));
}

absl::Status ChunkCursor::read(int64_t offset, absl::Span<char> bytes) {
  while (!bytes.empty()) {
    const int64_t chunk = offset / kChunkBytes;
    if (chunk != chunk_) {
      chunk_ = -1;
      buffer_.resize(chunk_size(file_.size_bytes(), chunk));
      RETURN_IF_ERROR(file_.read(chunk * kChunkBytes, absl::MakeSpan(buffer_)));
      chunk_ = chunk;
    }
    const size_t at = offset - chunk * kChunkBytes;
    const size_t count = std::min(bytes.size(), buffer_.size() - at);
    std::memcpy(bytes.data(), buffer_.data() + at, count);
    bytes.remove_prefix(count);
    offset += count;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> read_regular_file(FileSystem& files, const std::string& path,
                                              int64_t limit_bytes) {
  ASSIGN_OR_RETURN(const FileInfo info, files.link_info(path));
  RETURN_IF_ERROR(check_regular(path, info));
  if (info.size_bytes > limit_bytes) {
    return absl::DataLossError(absl::StrCat(path, " has ", info.size_bytes, " bytes; at most ",
                                            limit_bytes, " are allowed"));
  }
  return read_file(files, path);
}

}  // namespace millrace
