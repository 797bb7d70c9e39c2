// Writing safetensors files. Knows no LibTorch.
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

// A tensor on its way into a file.
struct TensorSource {
  // Takes the next bytes of a tensor, little-endian, rows first.
  using Append = std::function<absl::Status(absl::string_view bytes)>;

  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape = {};
  // Hands over all bytes, in as many pieces as it likes; called once. What it refers to must
  // live as long as the call of write_safetensors.
  std::function<absl::Status(const Append&)> content;
};

// A tensor whose bytes lie in memory.
TensorSource tensor_from_memory(absl::string_view name, TensorType type, std::vector<int64_t> shape,
                                const void* data);

// Writes a file atomically: `path` holds either its old content or all of the new one, durably
// once the call succeeded. The bytes depend on the tensors and the metadata alone, not on their
// order. Memory: the header.
// Errors: InvalidArgument for bad names, shapes or metadata (nothing is written); those of writing,
// naming the path; those of `content`, naming the tensor.
absl::Status write_safetensors(FileSystem& files, const std::string& path,
                               const std::vector<TensorSource>& tensors,
                               const std::map<std::string, std::string>& metadata);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_WRITER_H_
