// Our file system under Arrow's writers. Included by .cc files only.
#ifndef MILLRACE_IO_FORMAT_ARROW_OUTPUT_H_
#define MILLRACE_IO_FORMAT_ARROW_OUTPUT_H_

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <exception>

#include "absl/status/status.h"
#include "base/file_system.h"

namespace millrace {

// A WritableFile as Arrow wants it. The first error of the file is kept with its code, which
// Arrow would lose. Shared because Arrow's writers share their sink.
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

  // From here on everything that a writer still wants to write fails, and the file is not touched:
  // Arrow's writers write when they are destroyed.
  void detach() { file_ = nullptr; }

  const absl::Status& error() const { return error_; }

 private:
  WritableFile* file_;
  int64_t position_ = 0;
  bool closed_ = false;
  absl::Status error_;
};

// What Arrow said, as Internal or ResourceExhausted, or the file's own error if it had one.
absl::Status from_arrow(const arrow::Status& status, const ArrowOutput& output);

// Runs `call`, which returns an arrow::Status; Parquet may throw.
template <typename Call>
absl::Status guard_arrow(const ArrowOutput& output, Call&& call) {
  try {
    return from_arrow(call(), output);
  } catch (const std::exception& error) {
    return from_arrow(arrow::Status::IOError(error.what()), output);
  }
}

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_ARROW_OUTPUT_H_
