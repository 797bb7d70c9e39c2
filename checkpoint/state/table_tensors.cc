#include "checkpoint/state/table_tensors.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
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
  if (table.omitted_rows() > 0) entry.set_omitted_rows(table.omitted_rows());
  return entry;
}

SketchRanges sketch_ranges(uint64_t first_hash, uint64_t last_hash) {
  constexpr int kShift = 54;
  const auto begin = static_cast<int64_t>(first_hash >> kShift) +
                     ((first_hash & ((uint64_t{1} << kShift) - 1)) != 0 ? 1 : 0);
  return {begin, std::max<int64_t>(begin, static_cast<int64_t>(last_hash >> kShift) + 1)};
}

absl::uint128 table_state_digest(const AdmissionState& admission, const EvictedLogState& evicted,
                                 const Placement& placement) {
  // The first number of each digested text.
  constexpr int64_t kCandidate = 1, kEvicted = 2, kRange = 3;
  absl::uint128 sum = 0;
  const auto add = [&](std::initializer_list<int64_t> numbers, absl::string_view bytes) {
    std::string text;
    for (const int64_t number : numbers) {
      char little_endian[sizeof(number)];
      std::memcpy(little_endian, &number, sizeof(number));
      text.append(little_endian, sizeof(number));
    }
    text.append(bytes.data(), bytes.size());
    sum += xxh3_128(text);
  };
  for (size_t i = 0; i < admission.ids.size(); ++i) {
    add({kCandidate, admission.ids[i], admission.counts[i]}, "");
  }
  for (size_t i = 0; i < evicted.ids.size(); ++i) {
    add({kEvicted, evicted.ids[i], evicted.steps[i]}, "");
  }
  const CountSketchState& sketch = admission.sketch;
  const int64_t range_bytes = sketch.depth * sketch.width;
  if (range_bytes == 0) return sum;
  const int end = Placement::first_part(placement.rank + 1, placement.world_size);
  for (int r = Placement::first_part(placement.rank, placement.world_size); r < end; ++r) {
    add({kRange, r}, {reinterpret_cast<const char*>(sketch.counters.data()) + r * range_bytes,
                      static_cast<size_t>(range_bytes)});
  }
  return sum;
}

std::vector<std::string> table_differences(const CheckpointManifest::Table& saved,
                                           const EmbeddingTable& table, bool row_state) {
  const CheckpointManifest::Table due =
      schema(table.name(), table.dim(), table.layout().type, table.slots());
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
  // Slots are part of the row state; without it, the optimizer may differ.
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
