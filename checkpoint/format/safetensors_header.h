// The header of a safetensors file (https://github.com/huggingface/safetensors): which tensors
// there are and where. The rules, stricter than those of the format, are in
// docs/checkpoint_format.md.
#ifndef MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_HEADER_H_
#define MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/format/tensor_type.h"

namespace millrace {

inline constexpr int64_t kMaxSafetensorsHeaderBytes = 64 << 20;
inline constexpr int64_t kMaxTensorRank = 8;

// One tensor; its bytes are [begin, end) of what follows the header.
struct TensorInfo {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape = {};
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size_bytes() const { return end - begin; }
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // by ascending place
  std::map<std::string, std::string> metadata;
};

// Errors: InvalidArgument if a tensor may not have this name: it is empty, starts with a slash,
// holds NUL or "..", is not UTF-8, or is the format's own "__metadata__".
absl::Status check_tensor_name(absl::string_view name);

// Gives tensors their places: large elements first, so that all are aligned, then by name.
// Errors: InvalidArgument for names that may not be or come twice, ranks above 8, shapes that
// overflow.
absl::Status lay_out_tensors(std::vector<TensorInfo>* tensors);

// The header's JSON, padded with spaces to a multiple of 8 bytes. Equal headers give equal bytes.
// Errors: InvalidArgument if metadata is not UTF-8 or the header becomes too long.
absl::StatusOr<std::string> format_safetensors_header(const SafetensorsHeader& header);

// Reads the JSON of a file that has `data_bytes` bytes after it.
// Errors: DataLoss saying what is wrong, and with which tensor.
absl::StatusOr<SafetensorsHeader> parse_safetensors_header(absl::string_view text,
                                                           int64_t data_bytes);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_HEADER_H_
