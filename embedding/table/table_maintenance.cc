#include "embedding/table/table_maintenance.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/failure_kind.h"
#include "base/hash.h"
#include "base/log.h"

namespace millrace {
namespace {

constexpr int64_t kRecordBytes = 64;  // alignment of records
constexpr int64_t kPlaceBytes = 64;   // cost of a row's place in store and map under max_bytes
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr int64_t kEvictedAtOnce = 1 << 18;  // bounds the memory of an eviction

bool evicts(LimitConfig::OnFull on_full) {
  return on_full == LimitConfig::EVICT_LRU || on_full == LimitConfig::EVICT_LFU;
}

}  // namespace

int64_t TableMaintenance::row_bytes(absl::Span<const SlotSpec> slots) const {
  int64_t floats = 0;
  for (const SlotSpec& slot : slots) floats += slot.size;
  const int64_t bytes = parts_.store.weight_bytes() + floats * static_cast<int64_t>(sizeof(float));
  return (bytes + kRecordBytes - 1) / kRecordBytes * kRecordBytes + kPlaceBytes;
}

int64_t TableMaintenance::row_bytes() const { return row_bytes(parts_.store.slots()); }

absl::Status TableMaintenance::set_row_limit(absl::Span<const SlotSpec> slots) {
  const LimitConfig& limit = parts_.options.limit;
  int64_t rows = limit.max_rows() > 0 ? limit.max_rows() : kNoLimit;
  if (limit.max_bytes() > 0) {
    const int64_t bytes = row_bytes(slots);
    if (limit.max_bytes() < bytes) {
      // The slots of the optimizer are unknown before bind().
      return absl::InvalidArgumentError(
          absl::StrCat("table ", parts_.options.name, ".limit: max_bytes is ", limit.max_bytes(),
                       ", but one row takes ", slots.empty() ? "at least " : "", bytes,
                       slots.empty() ? ", and its slots" : ""));
    }
    rows = std::min(rows, limit.max_bytes() / bytes);
  }
  parts_.row_limit = rows;
  return absl::OkStatus();
}

absl::Status TableMaintenance::check_room(int64_t more) const {
  const std::optional<int64_t> committed = parts_.rows_that_count();
  const bool fails = parts_.row_limit != kNoLimit && committed.has_value() &&
                     parts_.options.limit.on_full() == LimitConfig::FAIL;
  const bool shared = parts_.on_several_ranks();  // all ranks must get the same answer
  const int64_t rows = shared ? committed.value_or(0) : parts_.store.size();
  if (fails && more > parts_.row_limit - rows) {
    return with_kind(absl::ResourceExhaustedError(absl::StrCat(
                         "table ", parts_.options.name, " has ", rows, " rows and needs ", more,
                         " more, but its limit is ", parts_.row_limit,
                         " rows (limit.max_rows or max_bytes, with on_full: FAIL)")),
                     FailureKind::kLimit);
  }
  return shared ? absl::OkStatus() : check_own_room(more);
}

absl::Status TableMaintenance::check_own_room(int64_t more) const {
  const int64_t rows = parts_.store.size();
  if (more <= parts_.options.max_own_rows - rows) return absl::OkStatus();
  return with_kind(
      absl::ResourceExhaustedError(absl::StrCat(
          "table ", parts_.options.name, " has ", rows, " rows on rank ",
          parts_.options.placement.rank, " and needs ", more,
          " more there, but a rank holds at most ", parts_.options.max_own_rows,
          " rows of a table; train on more ranks, or give the table a limit, an eviction or a "
          "stricter admission")),
      FailureKind::kLimit);
}

void TableMaintenance::enforce_limit() {
  // A limit over several ranks counts the rows of all ranks: see rows_beyond_limit().
  if (parts_.on_several_ranks()) return;
  int64_t beyond = rows_beyond_limit(parts_.store.size());
  if (beyond == 0) return;
  for (; beyond > 0; beyond -= std::min(beyond, kEvictedAtOnce)) {
    LeastRows least(limit_order(), std::min(beyond, kEvictedAtOnce));
    for (RowIndex row = 0; row < parts_.store.end(); ++row) {
      if (!parts_.store.in_use(row)) continue;
      least.add(row, parts_.store.id(row), parts_.store.frequency(row),
                parts_.store.last_step(row));
    }
    const std::vector<RowIndex> rows = least.take();
    parts_.counted.evicted[static_cast<int>(EvictionReason::kLimit)] +=
        static_cast<int64_t>(rows.size());
    remove(rows, parts_.step);
  }
  compact();
}

EvictionOrder TableMaintenance::limit_order() const {
  return parts_.options.limit.on_full() == LimitConfig::EVICT_LRU ? EvictionOrder::kLeastRecent
                                                                  : EvictionOrder::kLeastFrequent;
}

int64_t TableMaintenance::rows_beyond_limit(int64_t rows) const {
  if (rows <= parts_.row_limit || !evicts(parts_.options.limit.on_full())) return 0;
  const auto share =
      static_cast<int64_t>(parts_.options.limit.evict_to() * static_cast<double>(parts_.row_limit));
  return rows - std::clamp<int64_t>(share, 1, parts_.row_limit);
}

RowSelection TableMaintenance::select_least(int64_t count) const {
  return RowSelection(limit_order(), count);
}

RowKey TableMaintenance::key_of(RowIndex row) const {
  return row_key(limit_order(), parts_.store.id(row), parts_.store.frequency(row),
                 parts_.store.last_step(row));
}

void TableMaintenance::count_rows(const RowSelection& selection,
                                  RowSelection::Counts& counts) const {
  for (RowIndex row = 0; row < parts_.store.end(); ++row) {
    if (parts_.store.in_use(row)) selection.count(key_of(row), counts);
  }
}

void TableMaintenance::evict_selected(const RowSelection& selection) {
  MILLRACE_CHECK(!parts_.in_step()) << "rows evicted inside a step";
  WriterLock lock(parts_.mutex);
  std::vector<RowIndex> rows;
  const auto flush = [&] {
    parts_.counted.evicted[static_cast<int>(EvictionReason::kLimit)] +=
        static_cast<int64_t>(rows.size());
    remove(rows, parts_.step);
    rows.clear();
  };
  for (RowIndex row = 0; row < parts_.store.end(); ++row) {
    if (!parts_.store.in_use(row) || !selection.selects(key_of(row))) continue;
    rows.push_back(row);
    if (static_cast<int64_t>(rows.size()) == kEvictedAtOnce) flush();
  }
  flush();
  compact();
}

void TableMaintenance::compact() {
  if (!parts_.store.thaw()) return;
  // Up to a quarter of free places is kept for new rows.
  if (static_cast<int64_t>(parts_.store.end()) * 3 / 4 < parts_.store.size()) return;
  std::vector<int64_t> ids;
  std::vector<RowIndex> rows;
  parts_.store.compact([&](int64_t id, RowIndex to) {
    ids.push_back(id);
    rows.push_back(to);
  });
  parts_.map.erase(ids);
  size_t next = 0;
  std::vector<RowIndex> found(ids.size());
  parts_.map.find_or_insert(ids, absl::MakeSpan(found), [&](int64_t) { return rows[next++]; });
}

void TableMaintenance::remove(absl::Span<const RowIndex> rows, int64_t step) {
  std::vector<int64_t> ids;
  ids.reserve(rows.size());
  for (const RowIndex row : rows) ids.push_back(parts_.store.id(row));
  parts_.map.erase(ids);
  for (const RowIndex row : rows) parts_.store.remove(row);
  parts_.evicted.add(step, ids);
}

absl::StatusOr<EvictionCounts> TableMaintenance::evict(const EvictionTime& now) {
  WriterLock lock(parts_.mutex);
  if (parts_.in_step()) {
    return absl::FailedPreconditionError(
        absl::StrCat("evicting from table ", parts_.options.name, " inside a step"));
  }
  EvictionCounts counts = {};
  if (!parts_.eviction.has_value()) return counts;
  std::vector<RowIndex> rows;
  // The log of evicted ids requires that steps do not decrease.
  const int64_t step = std::max(now.step, parts_.step);
  absl::Span<float> weights;
  if (parts_.eviction->needs_weights()) weights = absl::MakeSpan(parts_.weights);
  for (RowIndex row = 0; row < parts_.store.end(); ++row) {
    if (!parts_.store.in_use(row)) continue;
    if (weights.size() > 0) parts_.store.read_weights(row, weights);
    const std::optional<EvictionReason> reason =
        parts_.eviction->verdict(now, {.id = parts_.store.id(row),
                                       .frequency = parts_.store.frequency(row),
                                       .last_step = parts_.store.last_step(row),
                                       .weights = weights});
    if (!reason.has_value()) continue;
    ++counts[static_cast<int>(*reason)];
    rows.push_back(row);
    if (rows.size() < kEvictedAtOnce) continue;
    remove(rows, step);
    rows.clear();
  }
  remove(rows, step);
  for (int i = 0; i < kEvictionReasons; ++i) parts_.counted.evicted[i] += counts[i];
  compact();
  return counts;
}

TableStatistics TableMaintenance::statistics() const {
  TableStatistics statistics = parts_.counted;
  statistics.rows = parts_.committed_rows();
  statistics.bytes = parts_.store.bytes() + parts_.store.bookkeeping_bytes() + parts_.map.bytes() +
                     parts_.admission->bytes() + parts_.evicted.bytes();
  statistics.load = parts_.map.load();
  statistics.candidates = parts_.admission->candidates();
  statistics.frozen = parts_.frozen_reads.read();
  statistics.evaluated = parts_.evaluated_reads.read();
  return statistics;
}

std::vector<HotId> TableMaintenance::hottest(int64_t count) const {
  // Keys are (frequency, ~hash); the smallest kept key is on top.
  using Key = std::pair<uint64_t, uint64_t>;
  std::priority_queue<Key, std::vector<Key>, std::greater<Key>> kept;
  for (RowIndex row = 0; row < parts_.store.end(); ++row) {
    if (!parts_.store.in_use(row)) continue;
    kept.emplace(parts_.store.frequency(row), ~placement_hash(parts_.store.id(row)));
    if (static_cast<int64_t>(kept.size()) > count) kept.pop();
  }
  std::vector<HotId> ids(kept.size());
  for (size_t i = ids.size(); i > 0; --i, kept.pop()) {
    ids[i - 1] = {inverse_placement_hash(~kept.top().second),
                  static_cast<int64_t>(kept.top().first)};
  }
  return ids;
}

}  // namespace millrace
