#include "checkpoint/format/tensor_type.h"

namespace millrace {
namespace {

struct Entry {
  TensorType type;
  const char* name;
  int64_t bytes;
};

constexpr Entry kEntries[] = {
    {TensorType::kBool, "BOOL", 1}, {TensorType::kU8, "U8", 1},   {TensorType::kI8, "I8", 1},
    {TensorType::kI16, "I16", 2},   {TensorType::kU16, "U16", 2}, {TensorType::kF16, "F16", 2},
    {TensorType::kBf16, "BF16", 2}, {TensorType::kI32, "I32", 4}, {TensorType::kU32, "U32", 4},
    {TensorType::kF32, "F32", 4},   {TensorType::kI64, "I64", 8}, {TensorType::kU64, "U64", 8},
    {TensorType::kF64, "F64", 8},
};

// Entries are in the order of the enumeration.
const Entry& entry_of(TensorType type) { return kEntries[static_cast<int>(type)]; }

}  // namespace

absl::string_view tensor_type_name(TensorType type) { return entry_of(type).name; }

std::optional<TensorType> tensor_type_of_name(absl::string_view name) {
  for (const Entry& entry : kEntries) {
    if (name == entry.name) return entry.type;
  }
  return std::nullopt;
}

std::vector<std::string> tensor_type_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return names;
}

int64_t tensor_type_bytes(TensorType type) { return entry_of(type).bytes; }

std::optional<int64_t> tensor_bytes(TensorType type, absl::Span<const int64_t> shape) {
  int64_t bytes = tensor_type_bytes(type);
  bool is_empty = false;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    if (dimension == 0) {
      is_empty = true;
    } else if (__builtin_mul_overflow(bytes, dimension, &bytes)) {
      return std::nullopt;
    }
  }
  return is_empty ? 0 : bytes;
}

}  // namespace millrace
