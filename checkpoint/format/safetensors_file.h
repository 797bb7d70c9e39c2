// Reads and writes safetensors files. Does not depend on LibTorch.
#ifndef MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_FILE_H_
#define MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_FILE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "checkpoint/format/safetensors_header.h"
#include "checkpoint/format/tensor_file_layout.h"
#include "checkpoint/format/tensor_type.h"

namespace millrace {

// One open file. Does not trust the file: before any other access the whole header is checked, by
// the rules of docs/checkpoint_format.md. Thread-safe.
//
//   ASSIGN_OR_RETURN(auto reader, SafetensorsReader::open(files, path));
//   ASSIGN_OR_RETURN(const TensorInfo* info, reader->find("table/items/ids"));
//   std::vector<int64_t> ids(info->shape[0]);
//   RETURN_IF_ERROR(reader->read(*info, absl::MakeSpan(ids)));
class SafetensorsReader {
 public:
  // Opens a file. Errors: errors of opening and reading; DataLoss naming the path and the mistake.
  static absl::StatusOr<std::unique_ptr<SafetensorsReader>> open(FileSystem& files,
                                                                 const std::string& path);

  const std::string& path() const { return file_->path(); }
  const std::vector<TensorInfo>& tensors() const { return layout_.tensors(); }  // by place
  const std::map<std::string, std::string>& metadata() const { return layout_.metadata(); }

  // Returns the tensor of this name, which lives as long as the reader. Errors: NotFound naming the
  // path and the nearest name.
  absl::StatusOr<const TensorInfo*> find(absl::string_view name) const;

  // Reads a whole tensor of this reader.
  // REQUIRES: the size of `bytes` is info.size_bytes().
  // Errors: DataLoss for a file that became shorter and for booleans other than 0 and 1; read
  // errors.
  absl::Status read_bytes(const TensorInfo& info, absl::Span<char> bytes) const;

  // Reads a whole tensor as numbers. Errors: as read_bytes(); InvalidArgument for another type or
  // another number of elements.
  absl::Status read(const TensorInfo& info, absl::Span<int64_t> values) const;
  absl::Status read(const TensorInfo& info, absl::Span<float> values) const;

 private:
  SafetensorsReader(std::unique_ptr<ReadableFile> file, TensorFileLayout layout)
      : file_(std::move(file)), layout_(std::move(layout)) {}
  absl::Status read_as(const TensorInfo& info, TensorType type, absl::Span<char> bytes) const;

  const std::unique_ptr<ReadableFile> file_;
  const TensorFileLayout layout_;
};

// A tensor to write to a file.
struct TensorSource {
  // Accepts the next bytes of a tensor, little-endian, in row-major order.
  using Append = std::function<absl::Status(absl::string_view bytes)>;

  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape = {};
  // Passes all bytes to the function, in any number of pieces. Called once. Data that `content`
  // refers to must outlive the call of write_safetensors().
  std::function<absl::Status(const Append&)> content;
};

// Returns a source of bytes in memory.
TensorSource tensor_from_memory(absl::string_view name, TensorType type, std::vector<int64_t> shape,
                                const void* data);

// Writes a file atomically: `path` has either its old content or the complete new content, which is
// durable after a successful call. The bytes depend only on the tensors and the metadata, not on
// the order of `tensors`. Memory: the header.
// Errors: InvalidArgument for invalid names, shapes or metadata (nothing is written); write errors,
// naming the path; any error of `content`, naming the tensor.
absl::Status write_safetensors(FileSystem& files, const std::string& path,
                               const std::vector<TensorSource>& tensors,
                               const std::map<std::string, std::string>& metadata);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_FILE_H_
