// The layout of a safetensors file, without its data.
#ifndef MILLRACE_CHECKPOINT_FORMAT_TENSOR_FILE_LAYOUT_H_
#define MILLRACE_CHECKPOINT_FORMAT_TENSOR_FILE_LAYOUT_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "checkpoint/format/safetensors_header.h"

namespace millrace {

// Bytes of the length that a safetensors file begins with.
inline constexpr int64_t kSafetensorsPrefixBytes = 8;

// The header of a safetensors file and the places of its tensors. Allows any region of the file to
// be produced or parsed separately. Immutable.
//
//   ASSIGN_OR_RETURN(TensorFileLayout layout, TensorFileLayout::create(
//       {{"table/items/ids", TensorType::kI64, {n}}, {"table/items/weights", ...}}, metadata));
//   layout.fill(offset, bytes, [&](const TensorInfo& tensor, int64_t begin, absl::Span<char> to) {
//     ...  // bytes [begin, begin + to.size()) of the tensor
//   });
class TensorFileLayout {
 public:
  using Fill =
      std::function<absl::Status(const TensorInfo& tensor, int64_t begin, absl::Span<char> bytes)>;
  using Take = std::function<absl::Status(const TensorInfo& tensor, int64_t begin,
                                          absl::Span<const char> bytes)>;

  // Places tensors in the order of the format. Errors: any error of lay_out_tensors() and
  // format_safetensors_header().
  static absl::StatusOr<TensorFileLayout> create(
      std::vector<TensorInfo> tensors, const std::map<std::string, std::string>& metadata);

  // Parses the layout of an existing file. `start`: the file's first bytes, as many as
  // safetensors_start_bytes() returns. Errors: DataLoss naming the mistake.
  static absl::StatusOr<TensorFileLayout> parse(absl::string_view start, int64_t size_bytes);

  // Tensors by ascending place; places count from data_begin().
  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  int64_t data_begin() const { return static_cast<int64_t>(start_.size()); }
  int64_t size_bytes() const;

  // Sets the bytes of the file from `offset` on. Calls `fill` for each tensor that overlaps the
  // region, by ascending place. Errors: any error of `fill`, naming the tensor.
  absl::Status fill(int64_t offset, absl::Span<char> bytes, const Fill& fill) const;

  // Passes the bytes of tensors in the region to `take`, by ascending place. Errors: any error of
  // `take`, naming the tensor.
  absl::Status take(int64_t offset, absl::Span<const char> bytes, const Take& take) const;

 private:
  TensorFileLayout(SafetensorsHeader header, std::string start)
      : header_(std::move(header)), start_(std::move(start)) {}
  // Calls each(tensor, begin in the tensor, begin in the region, count).
  template <typename Each>
  absl::Status for_each_piece(int64_t offset, int64_t size, const Each& each) const;

  SafetensorsHeader header_;
  std::string start_;  // everything before the tensors
};

// Returns the number of first bytes that TensorFileLayout::parse() needs, for a file of
// `size_bytes` that begins with `first_8`. Errors: DataLoss if the header would be too long.
absl::StatusOr<int64_t> safetensors_start_bytes(absl::string_view first_8, int64_t size_bytes);

// Splits bytes [begin, begin + size) of a tensor of rows by row: calls each(row, at, from, count)
// for bytes [at, at + count) of a row, which are bytes [from, from + count) of the region. All rows
// except the first and the last are whole.
template <typename Each>
void for_each_row_piece(int64_t row_bytes, int64_t begin, int64_t size, const Each& each) {
  for (int64_t from = 0; from < size;) {
    const int64_t row = (begin + from) / row_bytes, at = (begin + from) % row_bytes;
    const int64_t count = std::min(row_bytes - at, size - from);
    each(row, at, from, count);
    from += count;
  }
}

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_TENSOR_FILE_LAYOUT_H_
