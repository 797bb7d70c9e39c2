#include "checkpoint/state/table_tensors.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace millrace {
namespace {

CheckpointManifest::Table schema(const std::string& name, int64_t dim, RowType type,
                                 const std::vector<SlotSpec>& slots) {
  CheckpointManifest::Table entry;
  entry.set_name(name);
  entry.set_dim(dim);
  entry.set_dtype(std::string(tensor_type_name(tensor_type_of(type))));
  for (const SlotSpec& spec : slots) {
    CheckpointManifest::Slot* slot = entry.add_slots();
    slot->set_name(spec.name);
    slot->set_size(spec.size);
  }
  return entry;
}

}  // namespace

std::string table_prefix(absl::string_view table) { return absl::StrCat("table/", table, "/"); }

TensorType tensor_type_of(RowType type) {
  switch (type) {
    case RowType::kFloat32: return TensorType::kF32;
    case RowType::kFloat16: return TensorType::kF16;
    case RowType::kBfloat16: return TensorType::kBf16;
  }
  return TensorType::kF32;
}

CheckpointManifest::Table table_entry(const TableSnapshot& table, bool row_state) {
  const RowLayout& layout = table.rows().layout();
  CheckpointManifest::Table entry = schema(table.name(), layout.dim, layout.type,
                                           row_state ? table.slots() : std::vector<SlotSpec>());
  entry.set_rows(table.rows().size());
  return entry;
}

std::vector<std::string> table_differences(const CheckpointManifest::Table& saved,
                                           const EmbeddingTable& table, bool row_state) {
  const CheckpointManifest::Table due =
      schema(table.name(), table.dim(), table.store().type(), table.slots());
  const std::string what = absl::StrCat("table ", table.name());
  std::vector<std::string> lines;
  if (saved.dim() != due.dim()) {
    lines.push_back(
        absl::StrCat(what, " has dimension ", saved.dim(), " there, ", due.dim(), " here"));
  }
  if (saved.dtype() != due.dtype()) {
    lines.push_back(
        absl::StrCat(what, " has rows of ", saved.dtype(), " there, ", due.dtype(), " here"));
  }
  if (!row_state) return lines;
  std::map<std::string, int64_t> slots;
  std::vector<std::string> known;
  for (const auto& slot : saved.slots()) slots[slot.name()] = slot.size();
  for (const auto& slot : due.slots()) {
    known.push_back(slot.name());
    const auto found = slots.find(slot.name());
    if (found == slots.end()) {
      lines.push_back(absl::StrCat(what, ": slot ", slot.name(), " is missing there"));
      continue;
    }
    if (found->second != slot.size()) {
      lines.push_back(absl::StrCat(what, ": slot ", slot.name(), " has ", found->second,
                                   " numbers a row there, ", slot.size(), " here"));
    }
    slots.erase(found);
  }
  for (const auto& [name, size] : slots) {
    lines.push_back(absl::StrCat(what, ": slot ", name, " of the checkpoint is not in the model",
                                 did_you_mean(name, known)));
  }
  return lines;
}

}  // namespace millrace
