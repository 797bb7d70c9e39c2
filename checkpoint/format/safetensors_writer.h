// Writes safetensors files. Does not depend on LibTorch.
#ifndef MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_WRITER_H_
#define MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_WRITER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "checkpoint/format/tensor_type.h"

namespace millrace {

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

#endif  // MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_WRITER_H_
