// The file system of base/ under Arrow's readers and writers. Included by .cc files only.
#ifndef MILLRACE_IO_FORMAT_ARROW_FILE_H_
#define MILLRACE_IO_FORMAT_ARROW_FILE_H_

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/file_system.h"

namespace millrace {

// The message of a status on one line, without Arrow's call paths.
inline std::string arrow_message(const arrow::Status& status) {
  std::string message = status.message();
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message;
}

// A ReadableFile as a source of Arrow. Keeps the first error of the file with the status code, lost
// by Arrow. Held by a shared_ptr, since Arrow's readers share their source.
class ArrowFile : public arrow::io::RandomAccessFile {
 public:
  explicit ArrowFile(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}
  ~ArrowFile() override = default;

  arrow::Result<int64_t> GetSize() override { return file_->size_bytes(); }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t count) override;
  arrow::Result<int64_t> Read(int64_t count, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override;
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override;
  arrow::Status Close() override;
  bool closed() const override { return closed_; }

  const absl::Status& error() const { return error_; }

 private:
  const std::unique_ptr<ReadableFile> file_;
  int64_t position_ = 0;
  bool closed_ = false;
  absl::Status error_;
};

// Returns the error of the file, if any, else `status` as DataLoss, or as ResourceExhausted if
// memory ran out. Omits Arrow's line breaks and call paths.
absl::Status from_arrow(const arrow::Status& status, const ArrowFile& file);

// Returns from_arrow() of what `call` returns, an arrow::Status, or of its exception as IOError.
// Unlike catch_exceptions(), takes every exception for damage, also std::bad_alloc: a damaged
// length asks for any amount of memory.
template <typename Call>
absl::Status guard_arrow(const ArrowFile& file, Call&& call) {
  try {
    return from_arrow(call(), file);
  } catch (const std::exception& error) {
    return from_arrow(arrow::Status::IOError(error.what()), file);
  }
}

// A WritableFile as a sink of Arrow. Keeps the first error of the file with the status code, lost
// by Arrow. Held by a shared_ptr, since Arrow's writers share their sink.
class ArrowOutput : public arrow::io::OutputStream {
 public:
  // Borrows `file` until detach().
  explicit ArrowOutput(WritableFile& file) : file_(&file) {}
  ~ArrowOutput() override = default;

  arrow::Status Write(const void* data, int64_t count) override;
  arrow::Result<int64_t> Tell() const override { return position_; }
  // Does not close the file.
  arrow::Status Close() override;
  bool closed() const override { return closed_; }

  // Makes later writes fail without touching the file. Arrow's writers write when they are
  // destroyed.
  void detach() { file_ = nullptr; }

  const absl::Status& error() const { return error_; }

 private:
  WritableFile* file_;
  int64_t position_ = 0;
  bool closed_ = false;
  absl::Status error_;
};

// Returns the error of the file, if any, else `status` as Internal, or as ResourceExhausted if
// memory ran out.
absl::Status from_arrow(const arrow::Status& status, const ArrowOutput& output);

// Returns from_arrow() of what `call` returns, an arrow::Status, or of its exception as IOError;
// Parquet throws. Errors: ResourceExhausted, too, if memory or threads ran out.
template <typename Call>
absl::Status guard_arrow(const ArrowOutput& output, Call&& call) {
  arrow::Status written;
  const absl::Status thrown = catch_exceptions(
      [&] {
        written = call();
        return absl::OkStatus();
      },
      {"", "", "something was thrown that is no std::exception"});
  if (absl::IsResourceExhausted(thrown)) return thrown;
  if (!thrown.ok()) written = arrow::Status::IOError(std::string(thrown.message()));
  return from_arrow(written, output);
}

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_ARROW_FILE_H_
