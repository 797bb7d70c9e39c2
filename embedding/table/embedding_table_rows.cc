// How the rows of a table leave it and come back.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "embedding/table/embedding_table.h"

namespace millrace {
namespace {

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

std::vector<RowIndex> EmbeddingTable::rows_in_placement_order() const {
  ThreadPool one_thread(1);
  return store_.view()->in_placement_order(one_thread);
}

std::unique_ptr<TableSnapshot> EmbeddingTable::view() const {
  return std::make_unique<TableSnapshot>(parts(store_.view()));
}

std::unique_ptr<TableSnapshot> EmbeddingTable::freeze(std::shared_ptr<UndoBudget> budget) {
  MILLRACE_CHECK(store_.thaw()) << "table " << name() << " frozen twice";
  return std::make_unique<TableSnapshot>(parts(store_.freeze(std::move(budget))));
}

TableSnapshot::Parts EmbeddingTable::parts(std::shared_ptr<RowSnapshot> rows) const {
  MILLRACE_CHECK(tentative_.empty() && unadmitted_.empty()) << "a snapshot inside a step";
  return {name(), slots(), applied_steps_, std::move(rows), admission_->clone(), evicted_};
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
    result.weights.resize(result.weights.size() + dim());
    store_.read_weights(row, absl::MakeSpan(result.weights).last(dim()));
    const float* from = store_.slots(row);
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
    for (const int64_t value : *values) {
      if (value >= 0 && value <= std::numeric_limits<uint32_t>::max()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("a frequency or last step is ", value, ", not in 0 to 2^32 - 1"));
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
      return absl::InvalidArgumentError(
          absl::StrCat("slot ", slot.name, " has ", slot.size, " numbers a row, not ", spec->size));
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
  if (!tentative_.empty() || !unadmitted_.empty()) {
    return absl::FailedPreconditionError(what + " inside a step");
  }
  RETURN_IF_ERROR(check_rows(rows), what);
  WriterLock lock(mutex_);
  ASSIGN_OR_RETURN(const std::vector<RowIndex> numbers, place_rows(rows.ids, NewSlots::kUnset));
  const std::vector<int64_t> places = places_of(slots(), rows.slots);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const RowIndex row = numbers[i];
    store_.write_weights(row, absl::MakeSpan(rows.weights).subspan(i * dim(), dim()));
    store_.frequency(row) = rows.frequency.empty() ? 0 : static_cast<uint32_t>(rows.frequency[i]);
    store_.last_step(row) = rows.last_step.empty() ? 0 : static_cast<uint32_t>(rows.last_step[i]);
    float* to = store_.slots(row);
    for (size_t s = 0; s < places.size(); ++s) {
      const SlotSpec& spec = slots()[s];
      to = places[s] < 0
               ? std::fill_n(to, spec.size, spec.initial)
               : std::copy_n(rows.slots[places[s]].values.data() + i * spec.size, spec.size, to);
    }
  }
  for (const int64_t last_step : rows.last_step) step_ = std::max(step_, last_step);
  // A copy of the table as it was at that step lacks them.
  evicted_.restart(step_ + 1);
  return absl::OkStatus();
}

absl::Status EmbeddingTable::check_step(int64_t step) const {
  if (step >= 0 && step <= kMaxStep) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "table ", name(), " cannot note step ", step, ": the last step that saw a row is kept in 32 ",
      "bits, so ", kMaxStep, " is the largest; begin a new job with this one's model ",
      "(train.initialize_from)"));
}

absl::StatusOr<std::vector<RowIndex>> EmbeddingTable::place_rows(absl::Span<const int64_t> ids,
                                                                 NewSlots slots) {
  MILLRACE_CHECK(tentative_.empty() && unadmitted_.empty()) << "rows placed inside a step";
  std::vector<RowIndex> rows(ids.size());
  auto new_rows = static_cast<int64_t>(ids.size());
  if (map_.size() > 0) {
    find(ids, absl::MakeSpan(rows));
    new_rows = std::count(rows.begin(), rows.end(), kNoRow);
  }
  RETURN_IF_ERROR(check_room(new_rows), absl::StrCat("loading table ", name()));
  map_.reserve(new_rows);
  map_.find_or_insert(ids, absl::MakeSpan(rows), [&](int64_t id) {
    return slots == NewSlots::kInitial ? store_.add(id) : store_.add_unset(id);
  });
  admission_->forget(ids);
  store_.preserve(rows);
  return rows;
}

void EmbeddingTable::drop_rows(absl::Span<const int64_t> ids) {
  MILLRACE_CHECK(tentative_.empty()) << "rows dropped inside a step";
  WriterLock lock(mutex_);
  std::vector<RowIndex> rows(ids.size());
  find(ids, absl::MakeSpan(rows));
  map_.erase(ids);
  for (const RowIndex row : rows) {
    if (row != kNoRow) store_.remove(row);
  }
  compact();
}

void EmbeddingTable::reset() {
  WriterLock lock(mutex_);
  map_.clear();
  store_.clear();
  tentative_.clear();
  unadmitted_.clear();
  admission_->clear();
  evicted_.restart(0);
  counted_ = TableStatistics();
  hottest_ = 0;
  step_ = 0;
  applied_steps_ = 0;
}

absl::Status EmbeddingTable::set_admission_state(const AdmissionState& state) {
  return annotate(admission_->set_state(state), absl::StrCat("table ", name()));
}

absl::Status EmbeddingTable::set_evicted_log(const EvictedLogState& state) {
  return annotate(evicted_.set_state(state), absl::StrCat("table ", name()));
}

absl::Status EmbeddingTable::set_counters(const TableCounters& counters) {
  if (counters.applied_steps < 0 || counters.last_step < 0) {
    return absl::InvalidArgumentError(absl::StrCat("table ", name(), ": ", counters.applied_steps,
                                                   " steps were applied, the last of them step ",
                                                   counters.last_step));
  }
  RETURN_IF_ERROR(check_step(counters.last_step));
  applied_steps_ = counters.applied_steps;
  step_ = counters.last_step;
  counted_ = counters.counted;
  return absl::OkStatus();
}

std::unique_ptr<EmbeddingTable> EmbeddingTable::make_empty() const {
  EmbeddingTableOptions options = options_;
  options.blocks = store_.pool();  // so that blocks may change hands
  absl::StatusOr<std::unique_ptr<EmbeddingTable>> table = create(std::move(options));
  MILLRACE_CHECK(table.ok()) << table.status();
  const absl::Status bound = (*table)->bind(slots());
  MILLRACE_CHECK(bound.ok()) << bound;
  return *std::move(table);
}

void EmbeddingTable::swap_content(EmbeddingTable& other) {
  MILLRACE_CHECK(tentative_.empty() && other.tentative_.empty()) << "rows swapped inside a step";
  WriterLock lock(mutex_);  // nobody else has the other one
  map_.swap(other.map_);
  store_.swap_rows(other.store_);
  std::swap(admission_, other.admission_);
  std::swap(evicted_, other.evicted_);
  std::swap(counted_, other.counted_);
  std::swap(step_, other.step_);
  std::swap(applied_steps_, other.applied_steps_);
}

absl::uint128 EmbeddingTable::content_digest() const {
  ThreadPool one_thread(1);
  return store_.view()->content_digest(one_thread);
}

}  // namespace millrace
