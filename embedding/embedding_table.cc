#include "embedding/embedding_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace {
namespace {

constexpr int64_t kMaxDim = 4096;

// Where each slot of `specs` stands in `slots`, or -1.
std::vector<int64_t> places_of(const std::vector<SlotSpec>& specs,
                               const std::vector<TableRows::Slot>& slots) {
  std::vector<int64_t> places;
  for (const SlotSpec& spec : specs) {
    auto found = std::find_if(slots.begin(), slots.end(),
                              [&](const TableRows::Slot& slot) { return slot.name == spec.name; });
    places.push_back(found == slots.end() ? -1 : found - slots.begin());
  }
  return places;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddingTable>> EmbeddingTable::create(
    EmbeddingTableOptions options) {
  if (options.name.empty()) return absl::InvalidArgumentError("a table without a name");
  if (options.dim < 1 || options.dim > kMaxDim) {
    return absl::InvalidArgumentError(absl::StrCat("table ", options.name, ": dim is ", options.dim,
                                                   ", not in 1 to ", kMaxDim));
  }
  ASSIGN_OR_RETURN(Initializer initializer,
                   Initializer::create(options.initializer, options.seed, options.name));
  return std::unique_ptr<EmbeddingTable>(new EmbeddingTable(std::move(options), initializer));
}

absl::Status EmbeddingTable::bind(std::vector<SlotSpec> slots) {
  if (slots == store_.slots()) return absl::OkStatus();
  if (store_.size() > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", name(), " has rows already: its optimizer state cannot change any more"));
  }
  store_.set_slots(std::move(slots));
  return absl::OkStatus();
}

absl::Status EmbeddingTable::find_or_insert(absl::Span<const int64_t> ids,
                                            absl::Span<RowIndex> rows) {
  if (store_.size() + static_cast<int64_t>(ids.size()) > RowStore::kMaxRows) {
    return absl::ResourceExhaustedError(
        absl::StrCat("table ", name(), " has no room for ", ids.size(), " more rows"));
  }
  map_.find_or_insert(ids, rows, [this](int64_t id) {
    const RowIndex row = store_.add(id);
    initializer_.fill(id, absl::MakeSpan(store_.weights(row), dim()));
    tentative_.push_back(row);
    return row;
  });
  return absl::OkStatus();
}

void EmbeddingTable::commit(int64_t step, absl::Span<const RowIndex> rows,
                            absl::Span<const uint32_t> counts) {
  for (size_t i = 0; i < rows.size(); ++i) {
    store_.frequency(rows[i]) += counts[i];
    store_.last_step(rows[i]) = step;
  }
  inserted_ += static_cast<int64_t>(tentative_.size());
  tentative_.clear();
  ++applied_steps_;
}

void EmbeddingTable::discard() {
  // Backwards, so that row numbers are handed out again in the same order.
  for (; !tentative_.empty(); tentative_.pop_back()) {
    const RowIndex row = tentative_.back();
    const int64_t id = store_.id(row);
    map_.erase({&id, 1});
    store_.remove(row);
  }
}

TableStatistics EmbeddingTable::statistics() const {
  TableStatistics statistics;
  statistics.rows = store_.size() - static_cast<int64_t>(tentative_.size());
  statistics.inserted = inserted_;
  statistics.bytes = store_.bytes() + map_.bytes();
  return statistics;
}

std::vector<RowIndex> EmbeddingTable::rows_in_placement_order() const {
  std::vector<std::pair<uint64_t, RowIndex>> order;
  order.reserve(store_.size());
  for (RowIndex row = 0; row < store_.end(); ++row) {
    if (store_.in_use(row)) order.emplace_back(placement_hash(store_.id(row)), row);
  }
  std::sort(order.begin(), order.end());
  std::vector<RowIndex> rows;
  rows.reserve(order.size());
  for (const auto& [hash, row] : order) rows.push_back(row);
  return rows;
}

TableRows EmbeddingTable::export_rows() const {
  MILLRACE_CHECK(tentative_.empty()) << "rows exported inside a step";
  TableRows result;
  result.dim = dim();
  for (const SlotSpec& spec : slots()) result.slots.push_back({spec.name, spec.size, {}});
  result.weights.reserve(store_.size() * dim());
  for (const RowIndex row : rows_in_placement_order()) {
    result.ids.push_back(store_.id(row));
    result.frequency.push_back(store_.frequency(row));
    result.last_step.push_back(store_.last_step(row));
    const float* from = store_.weights(row);
    result.weights.insert(result.weights.end(), from, from + dim());
    from = store_.slots(row);
    for (TableRows::Slot& slot : result.slots) {
      slot.values.insert(slot.values.end(), from, from + slot.size);
      from += slot.size;
    }
  }
  return result;
}

absl::Status EmbeddingTable::check_rows(const TableRows& rows) const {
  const size_t count = rows.ids.size();
  if (rows.dim != dim() || rows.weights.size() != count * rows.dim) {
    return absl::InvalidArgumentError(absl::StrCat("weights of ", count, " rows of ", dim(),
                                                   " columns are due; got ", rows.weights.size(),
                                                   " numbers in columns of ", rows.dim));
  }
  for (const std::vector<int64_t>* values : {&rows.frequency, &rows.last_step}) {
    if (!values->empty() && values->size() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("frequencies or last steps of ", values->size(), " of ", count, " rows"));
    }
  }
  std::vector<std::string> known;
  for (const SlotSpec& spec : slots()) known.push_back(spec.name);
  for (const TableRows::Slot& slot : rows.slots) {
    auto spec = std::find_if(slots().begin(), slots().end(),
                             [&](const SlotSpec& s) { return s.name == slot.name; });
    if (spec == slots().end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no slot \"", slot.name, "\"", did_you_mean(slot.name, known)));
    }
    if (slot.size != spec->size || slot.values.size() != count * slot.size) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", slot.name, " has ", slot.size,
                                                     " numbers a row, not ", spec->size));
    }
  }
  std::vector<int64_t> ids = rows.ids;
  std::sort(ids.begin(), ids.end());
  auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) {
    return absl::InvalidArgumentError(absl::StrCat("id ", *twice, " comes twice"));
  }
  return absl::OkStatus();
}

absl::Status EmbeddingTable::load_rows(const TableRows& rows) {
  const std::string what = absl::StrCat("loading table ", name());
  if (!tentative_.empty()) return absl::FailedPreconditionError(what + " inside a step");
  RETURN_IF_ERROR(check_rows(rows), what);
  std::vector<RowIndex> numbers(rows.ids.size());
  RETURN_IF_ERROR(find_or_insert(rows.ids, absl::MakeSpan(numbers)), what);
  tentative_.clear();
  const std::vector<int64_t> places = places_of(slots(), rows.slots);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const RowIndex row = numbers[i];
    std::copy_n(rows.weights.data() + i * dim(), dim(), store_.weights(row));
    store_.frequency(row) = rows.frequency.empty() ? 0 : rows.frequency[i];
    store_.last_step(row) = rows.last_step.empty() ? 0 : rows.last_step[i];
    float* to = store_.slots(row);
    for (size_t s = 0; s < places.size(); ++s) {
      const SlotSpec& spec = slots()[s];
      to = places[s] < 0 ? std::fill_n(to, spec.size, spec.initial)
                         : std::copy_n(rows.slots[places[s]].values.data() + i * spec.size,
                                       spec.size, to);
    }
  }
  return absl::OkStatus();
}

void EmbeddingTable::reset() {
  map_.clear();
  store_.clear();
  tentative_.clear();
  applied_steps_ = 0;
}

absl::uint128 EmbeddingTable::content_digest() const {
  const size_t record_bytes = (dim() + store_.slot_floats()) * sizeof(float);
  std::vector<char> bytes(3 * sizeof(int64_t) + record_bytes);
  absl::uint128 digest = 0;
  for (RowIndex row = 0; row < store_.end(); ++row) {
    if (!store_.in_use(row)) continue;
    const int64_t id = store_.id(row), frequency = store_.frequency(row);
    const int64_t last_step = store_.last_step(row);
    char* to = bytes.data();
    std::memcpy(to, &id, sizeof(id));
    std::memcpy(to + sizeof(id), store_.weights(row), record_bytes);  // the slots follow
    to += sizeof(id) + record_bytes;
    std::memcpy(to, &frequency, sizeof(frequency));
    std::memcpy(to + sizeof(frequency), &last_step, sizeof(last_step));
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    digest += absl::MakeUint128(hash.high64, hash.low64);
  }
  return digest;
}

}  // namespace millrace
