#include "embedding/table/table_content.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "embedding/table/table_step.h"

namespace millrace {
namespace {

// Returns the index in `slots` of each slot of `specs`; -1 if missing.
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

std::vector<RowIndex> TableContent::rows_in_placement_order() const {
  ThreadPool one_thread(1);
  return parts_.store.view()->in_placement_order(one_thread);
}

std::unique_ptr<TableSnapshot> TableContent::view() const {
  return std::make_unique<TableSnapshot>(snapshot_parts(parts_.store.view()));
}

std::unique_ptr<TableSnapshot> TableContent::freeze(std::shared_ptr<UndoBudget> budget) {
  MILLRACE_CHECK(thaw()) << "table " << parts_.options.name << " frozen twice";
  return std::make_unique<TableSnapshot>(snapshot_parts(parts_.store.freeze(std::move(budget))));
}

TableSnapshot::Parts TableContent::snapshot_parts(std::shared_ptr<RowSnapshot> rows) const {
  MILLRACE_CHECK(!parts_.in_step()) << "a snapshot inside a step";
  return {.name = parts_.options.name,
          .slots = parts_.store.slots(),
          .applied_steps = parts_.applied_steps,
          .placement = parts_.options.placement,
          .rows = std::move(rows),
          .admission = parts_.admission->clone(),
          .evicted = parts_.evicted};
}

TableRows TableContent::export_rows() const {
  MILLRACE_CHECK(parts_.tentative.empty()) << "rows exported inside a step";
  TableRows result;
  result.dim = parts_.options.dim;
  for (const SlotSpec& spec : parts_.store.slots())
    result.slots.push_back({spec.name, spec.size, {}});
  result.weights.reserve(parts_.store.size() * parts_.options.dim);
  for (const RowIndex row : rows_in_placement_order()) {
    result.ids.push_back(parts_.store.id(row));
    result.frequency.push_back(parts_.store.frequency(row));
    result.last_step.push_back(parts_.store.last_step(row));
    result.weights.resize(result.weights.size() + parts_.options.dim);
    parts_.store.read_weights(row, absl::MakeSpan(result.weights).last(parts_.options.dim));
    const float* from = parts_.store.slots(row);
    for (TableRows::Slot& slot : result.slots) {
      slot.values.insert(slot.values.end(), from, from + slot.size);
      from += slot.size;
    }
  }
  return result;
}

absl::Status TableContent::check_rows(const TableRows& rows) const {
  // All checks precede the first change of the table, so that an error leaves the table intact.
  const size_t count = rows.ids.size();
  if (rows.dim != parts_.options.dim || rows.weights.size() != count * rows.dim) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weights of ", count, " rows of ", parts_.options.dim, " columns are due; got ",
        rows.weights.size(), " numbers in columns of ", rows.dim));
  }
  for (const std::vector<int64_t>* values : {&rows.frequency, &rows.last_step}) {
    if (!values->empty() && values->size() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("frequencies or last steps of ", values->size(), " of ", count, " rows"));
    }
    for (const int64_t value : *values) {
      if (value >= 0 && value <= std::numeric_limits<uint32_t>::max()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("a frequency or last step is ", value, ", not in 0 to 2^32 - 1"));
    }
  }
  // Slots may be missing in `rows`, since load_rows() fills them with initial values.
  std::vector<std::string> known;
  for (const SlotSpec& spec : parts_.store.slots()) known.push_back(spec.name);
  for (const TableRows::Slot& slot : rows.slots) {
    auto spec = std::find_if(parts_.store.slots().begin(), parts_.store.slots().end(),
                             [&](const SlotSpec& s) { return s.name == slot.name; });
    if (spec == parts_.store.slots().end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no slot \"", slot.name, "\"", did_you_mean(slot.name, known)));
    }
    if (slot.size != spec->size || slot.values.size() != count * slot.size) {
      return absl::InvalidArgumentError(
          absl::StrCat("slot ", slot.name, " has ", slot.size, " numbers a row, not ", spec->size));
    }
  }
  // The result of a repeated id would depend on the order of rows.
  std::vector<int64_t> ids = rows.ids;
  std::sort(ids.begin(), ids.end());
  auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) {
    return absl::InvalidArgumentError(absl::StrCat("id ", *twice, " comes twice"));
  }
  return absl::OkStatus();
}

absl::Status TableContent::load_rows(const TableRows& rows) {
  const std::string what = absl::StrCat("loading table ", parts_.options.name);
  if (parts_.in_step()) {
    return absl::FailedPreconditionError(what + " inside a step");
  }
  RETURN_IF_ERROR(check_rows(rows), what);
  WriterLock lock(parts_.mutex);
  std::vector<int64_t> ids;
  std::vector<size_t> from;  // indexes in `rows` of this rank's ids
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    if (!parts_.options.placement.owns(rows.ids[i])) continue;
    ids.push_back(rows.ids[i]);
    from.push_back(i);
  }
  ASSIGN_OR_RETURN(const std::vector<RowIndex> numbers, place_rows(ids, NewSlots::kUnset));
  const std::vector<int64_t> places = places_of(parts_.store.slots(), rows.slots);
  for (size_t n = 0; n < numbers.size(); ++n) {
    const size_t i = from[n];
    const RowIndex row = numbers[n];
    parts_.store.write_weights(
        row, absl::MakeSpan(rows.weights).subspan(i * parts_.options.dim, parts_.options.dim));
    parts_.store.frequency(row) =
        rows.frequency.empty() ? 0 : static_cast<uint32_t>(rows.frequency[i]);
    parts_.store.last_step(row) =
        rows.last_step.empty() ? 0 : static_cast<uint32_t>(rows.last_step[i]);
    float* to = parts_.store.slots(row);
    for (size_t s = 0; s < places.size(); ++s) {
      const SlotSpec& spec = parts_.store.slots()[s];
      to = places[s] < 0
               ? std::fill_n(to, spec.size, spec.initial)
               : std::copy_n(rows.slots[places[s]].values.data() + i * spec.size, spec.size, to);
    }
  }
  for (const int64_t last_step : rows.last_step) parts_.step = std::max(parts_.step, last_step);
  // A copy of the table at that step lacks the loaded rows.
  parts_.evicted.restart(parts_.step + 1);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RowIndex>> TableContent::place_rows(absl::Span<const int64_t> ids,
                                                               NewSlots slots) {
  MILLRACE_CHECK(!parts_.in_step()) << "rows placed inside a step";
  std::vector<RowIndex> rows(ids.size());
  auto new_rows = static_cast<int64_t>(ids.size());
  if (parts_.map.size() > 0) {
    parts_.map.find(ids, absl::MakeSpan(rows));
    new_rows = std::count(rows.begin(), rows.end(), kNoRow);
  }
  const std::string loading = absl::StrCat("loading table ", parts_.options.name);
  RETURN_IF_ERROR(maintenance_.check_room(new_rows), loading);
  RETURN_IF_ERROR(maintenance_.check_own_room(new_rows), loading);
  parts_.map.reserve(new_rows);
  parts_.map.find_or_insert(ids, absl::MakeSpan(rows), [&](int64_t id) {
    return slots == NewSlots::kInitial ? parts_.store.add(id) : parts_.store.add_unset(id);
  });
  parts_.admission->forget(ids);
  parts_.store.preserve(rows);
  return rows;
}

void TableContent::drop_rows(absl::Span<const int64_t> ids) {
  MILLRACE_CHECK(!parts_.in_step()) << "rows dropped inside a step";
  WriterLock lock(parts_.mutex);
  std::vector<RowIndex> rows(ids.size());
  parts_.map.find(ids, absl::MakeSpan(rows));
  parts_.map.erase(ids);
  for (const RowIndex row : rows) {
    if (row != kNoRow) parts_.store.remove(row);
  }
  maintenance_.compact();
}

void TableContent::reset() {
  WriterLock lock(parts_.mutex);
  parts_.map.clear();
  parts_.store.clear();
  parts_.tentative.clear();
  parts_.unadmitted.clear();
  parts_.admission->clear();
  parts_.evicted.restart(0);
  parts_.counted = TableStatistics();
  parts_.hottest = 0;
  parts_.step = 0;
  parts_.applied_steps = 0;
}

absl::Status TableContent::set_admission_state(const AdmissionState& state) {
  return annotate(parts_.admission->set_state(state), absl::StrCat("table ", parts_.options.name));
}

absl::Status TableContent::set_evicted_log(const EvictedLogState& state) {
  return annotate(parts_.evicted.set_state(state), absl::StrCat("table ", parts_.options.name));
}

absl::Status TableContent::set_counters(const TableCounters& counters) {
  if (counters.applied_steps < 0 || counters.last_step < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("table ", parts_.options.name, ": ", counters.applied_steps,
                     " steps were applied, the last of them step ", counters.last_step));
  }
  RETURN_IF_ERROR(check_table_step(parts_.options.name, counters.last_step));
  parts_.applied_steps = counters.applied_steps;
  parts_.step = counters.last_step;
  parts_.counted = counters.counted;
  return absl::OkStatus();
}

absl::uint128 TableContent::digest() const {
  ThreadPool one_thread(1);
  return parts_.store.view()->content_digest(one_thread);
}

void TableContent::swap(TableContent& other) {
  MILLRACE_CHECK(!parts_.in_step() && !other.parts_.in_step()) << "rows swapped inside a step";
  WriterLock lock(parts_.mutex);  // the lock of `other` is not needed: no other thread uses it
  parts_.map.swap(other.parts_.map);
  parts_.store.swap_rows(other.parts_.store);
  std::swap(parts_.admission, other.parts_.admission);
  std::swap(parts_.evicted, other.parts_.evicted);
  std::swap(parts_.counted, other.parts_.counted);
  std::swap(parts_.step, other.parts_.step);
  std::swap(parts_.applied_steps, other.parts_.applied_steps);
}

absl::StatusOr<std::vector<int64_t>> TableContent::evicted_since(int64_t step) const {
  absl::StatusOr<std::vector<int64_t>> ids = parts_.evicted.since(step);
  RETURN_IF_ERROR(ids.status(), absl::StrCat("table ", parts_.options.name));
  std::vector<RowIndex> rows(ids->size());
  parts_.map.find(*ids, absl::MakeSpan(rows));
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == kNoRow) (*ids)[kept++] = (*ids)[i];
  }
  ids->resize(kept);
  return ids;
}

}  // namespace millrace
