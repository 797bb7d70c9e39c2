// The header of a safetensors file (https://github.com/huggingface/safetensors): the tensors and
// their places. docs/checkpoint_format.md has the rules, which are stricter than the rules of the
// format.
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

// One tensor. Its bytes are [begin, end) of the data after the header.
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

// Checks a tensor's name. Errors: InvalidArgument for a name that is empty, starts with a slash,
// contains NUL or "..", is not UTF-8, or is the format's reserved "__metadata__".
absl::Status check_tensor_name(absl::string_view name);

// Assigns places to tensors: by descending element size, so that all are aligned, then by name.
// Errors: InvalidArgument for invalid or duplicate names, ranks above 8, shapes that overflow.
absl::Status lay_out_tensors(std::vector<TensorInfo>* tensors);

// Returns the header's JSON, padded with spaces to a multiple of 8 bytes. Equal headers give equal
// bytes. Errors: InvalidArgument if metadata is not UTF-8 or the header becomes too long.
absl::StatusOr<std::string> format_safetensors_header(const SafetensorsHeader& header);

// Parses the header's JSON of a file that has `data_bytes` bytes after the header. Errors: DataLoss
// naming the mistake and the tensor.
absl::StatusOr<SafetensorsHeader> parse_safetensors_header(absl::string_view text,
                                                           int64_t data_bytes);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_SAFETENSORS_HEADER_H_
