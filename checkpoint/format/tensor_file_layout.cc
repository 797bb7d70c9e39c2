#include "checkpoint/format/tensor_file_layout.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

std::string about(const TensorInfo& tensor) { return absl::StrCat("tensor \"", tensor.name, "\""); }

}  // namespace

absl::StatusOr<int64_t> safetensors_start_bytes(absl::string_view first_8, int64_t size_bytes) {
  uint64_t length = 0;
  if (first_8.size() < kSafetensorsPrefixBytes)
    return absl::DataLossError("a file of less than 8 bytes");
  std::memcpy(&length, first_8.data(), kSafetensorsPrefixBytes);
  const int64_t rest = size_bytes - kSafetensorsPrefixBytes;
  if (length <= kMaxSafetensorsHeaderBytes && static_cast<int64_t>(length) <= rest) {
    return kSafetensorsPrefixBytes + static_cast<int64_t>(length);
  }
  return absl::DataLossError(absl::StrCat("header of ", length, " bytes; the file has ", rest,
                                          " and ", kMaxSafetensorsHeaderBytes, " are allowed"));
}

absl::StatusOr<TensorFileLayout> TensorFileLayout::create(
    std::vector<TensorInfo> tensors, const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header{std::move(tensors), metadata};
  RETURN_IF_ERROR(lay_out_tensors(&header.tensors));
  ASSIGN_OR_RETURN(const std::string text, format_safetensors_header(header));
  const uint64_t length = text.size();
  std::string start(kSafetensorsPrefixBytes, '\0');
  std::memcpy(start.data(), &length, kSafetensorsPrefixBytes);
  start += text;
  TensorFileLayout layout(std::move(header), std::move(start));
  int64_t end = layout.data_begin();
  if (!layout.tensors().empty() && __builtin_add_overflow(end, layout.tensors().back().end, &end)) {
    return absl::InvalidArgumentError("the file would be too large");
  }
  return layout;
}

absl::StatusOr<TensorFileLayout> TensorFileLayout::parse(absl::string_view start,
                                                         int64_t size_bytes) {
  ASSIGN_OR_RETURN(const int64_t data, safetensors_start_bytes(start.substr(0, 8), size_bytes));
  if (static_cast<int64_t>(start.size()) < data) return absl::DataLossError("the header is cut");
  ASSIGN_OR_RETURN(SafetensorsHeader header,
                   parse_safetensors_header(
                       start.substr(kSafetensorsPrefixBytes, data - kSafetensorsPrefixBytes),
                       size_bytes - data));
  return TensorFileLayout(std::move(header), std::string(start.substr(0, data)));
}

int64_t TensorFileLayout::size_bytes() const {
  return data_begin() + (header_.tensors.empty() ? 0 : header_.tensors.back().end);
}

template <typename Each>
absl::Status TensorFileLayout::for_each_piece(int64_t offset, int64_t size,
                                              const Each& each) const {
  const int64_t begin = std::max<int64_t>(0, offset - data_begin());
  const int64_t end = offset + size - data_begin();
  auto tensor = std::partition_point(header_.tensors.begin(), header_.tensors.end(),
                                     [&](const TensorInfo& t) { return t.end <= begin; });
  for (; tensor != header_.tensors.end() && tensor->begin < end; ++tensor) {
    const int64_t from = std::max(begin, tensor->begin), to = std::min(end, tensor->end);
    if (from >= to) continue;  // a tensor without elements
    RETURN_IF_ERROR(each(*tensor, from - tensor->begin, from + data_begin() - offset, to - from),
                    about(*tensor));
  }
  return absl::OkStatus();
}

absl::Status TensorFileLayout::fill(int64_t offset, absl::Span<char> bytes,
                                    const Fill& fill) const {
  if (offset < data_begin()) {
    const size_t count = std::min<size_t>(bytes.size(), data_begin() - offset);
    std::memcpy(bytes.data(), start_.data() + offset, count);
  }
  return for_each_piece(offset, bytes.size(),
                        [&](const TensorInfo& tensor, int64_t begin, int64_t at, int64_t count) {
                          return fill(tensor, begin, bytes.subspan(at, count));
                        });
}

absl::Status TensorFileLayout::take(int64_t offset, absl::Span<const char> bytes,
                                    const Take& take) const {
  return for_each_piece(offset, bytes.size(),
                        [&](const TensorInfo& tensor, int64_t begin, int64_t at, int64_t count) {
                          return take(tensor, begin, bytes.subspan(at, count));
                        });
}

}  // namespace millrace
