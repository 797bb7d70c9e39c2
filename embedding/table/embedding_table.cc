#include "embedding/table/embedding_table.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/failure_kind.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory/block_pool.h"
#include "base/status_macros.h"
#include "proto/table_policy_check.h"

namespace millrace {
namespace {

constexpr int64_t kMaxDim = 4096;
constexpr int64_t kRecordBytes = 64;  // records take a multiple of it
constexpr int64_t kPlaceBytes = 64;   // of a row in store and map, as max_bytes counts
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr int64_t kEvictedAtOnce = 1 << 18;  // bounds the memory that evicting takes

bool evicts(LimitConfig::OnFull on_full) {
  return on_full == LimitConfig::EVICT_LRU || on_full == LimitConfig::EVICT_LFU;
}

RowType row_type(RowDtype dtype) {
  switch (dtype) {
    case FLOAT16: return RowType::kFloat16;
    case BFLOAT16: return RowType::kBfloat16;
    default: return RowType::kFloat32;
  }
}

}  // namespace

EmbeddingTableOptions EmbeddingTableOptions::from_config(const TableConfig& config, uint64_t seed) {
  EmbeddingTableOptions options;
  options.name = config.name();
  options.dim = config.dim();
  options.initializer = config.initializer();
  options.seed = seed;
  options.admission = config.admission();
  options.default_value = config.default_value();
  if (config.has_eviction()) options.eviction = config.eviction();
  options.limit = config.limit();
  options.type = row_type(config.row_dtype());
  return options;
}

absl::StatusOr<std::unique_ptr<EmbeddingTable>> EmbeddingTable::create(
    EmbeddingTableOptions options) {
  if (options.name.empty()) return absl::InvalidArgumentError("a table without a name");
  if (options.dim < 1 || options.dim > kMaxDim) {
    return absl::InvalidArgumentError(
        absl::StrCat("table ", options.name, ": dim is ", options.dim, ", not in 1 to ", kMaxDim));
  }
  if (options.added_columns < 0 || options.added_columns >= options.dim) {
    return absl::InvalidArgumentError(absl::StrCat(
        "table ", options.name, ": ", options.added_columns, " added columns of ", options.dim));
  }
  ASSIGN_OR_RETURN(Initializer initializer,
                   Initializer::create({options.initializer, options.seed, options.name,
                                        options.dim, options.instruction_set}));
  const std::string where = absl::StrCat("table ", options.name);
  RETURN_IF_ERROR(check_default_value(where, options.default_value));
  RETURN_IF_ERROR(check_limit(where, options.limit));
  ASSIGN_OR_RETURN(std::unique_ptr<Admission> admission,
                   Admission::create(options.admission, options.seed, options.name));
  std::optional<EvictionRules> eviction;
  if (options.eviction.has_value()) {
    ASSIGN_OR_RETURN(eviction, EvictionRules::create(*options.eviction, options.name));
  }
  options.blocks = pool_or_own(std::move(options.blocks));
  std::unique_ptr<EmbeddingTable> table(
      new EmbeddingTable(std::move(options), initializer, std::move(admission)));
  table->eviction_ = std::move(eviction);
  RETURN_IF_ERROR(table->set_row_limit({}));
  return table;
}

EmbeddingTable::EmbeddingTable(EmbeddingTableOptions options, Initializer initializer,
                               std::unique_ptr<Admission> admission)
    : options_(std::move(options)),
      initializer_(initializer),
      kernels_(millrace::kernels(options_.instruction_set)),
      rounding_key_(xxh3(options_.name + "/rounding", options_.seed)),
      admission_(std::move(admission)),
      map_(options_.instruction_set, options_.blocks),
      store_(options_.dim, options_.type, options_.blocks, options_.instruction_set),
      weights_(options_.dim),
      evicted_(options_.evicted_log_ids) {}

int64_t EmbeddingTable::row_bytes(absl::Span<const SlotSpec> slots) const {
  int64_t floats = 0;
  for (const SlotSpec& slot : slots) floats += slot.size;
  const int64_t bytes = store_.weight_bytes() + floats * static_cast<int64_t>(sizeof(float));
  return (bytes + kRecordBytes - 1) / kRecordBytes * kRecordBytes + kPlaceBytes;
}

int64_t EmbeddingTable::row_bytes() const { return row_bytes(slots()); }

absl::Status EmbeddingTable::set_row_limit(absl::Span<const SlotSpec> slots) {
  const LimitConfig& limit = options_.limit;
  int64_t rows = limit.max_rows() > 0 ? limit.max_rows() : kNoLimit;
  if (limit.max_bytes() > 0) {
    const int64_t bytes = row_bytes(slots);
    if (limit.max_bytes() < bytes) {
      // What the optimizer needs is not known before bind().
      return absl::InvalidArgumentError(absl::StrCat(
          "table ", name(), ".limit: max_bytes is ", limit.max_bytes(), ", but one row takes ",
          slots.empty() ? "at least " : "", bytes, slots.empty() ? ", and its slots" : ""));
    }
    rows = std::min(rows, limit.max_bytes() / bytes);
  }
  row_limit_ = rows;
  return absl::OkStatus();
}

absl::Status EmbeddingTable::bind(std::vector<SlotSpec> slots) {
  if (slots == store_.slots()) return absl::OkStatus();
  if (store_.size() > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", name(), " has rows already: its optimizer state cannot change any more"));
  }
  RETURN_IF_ERROR(set_row_limit(slots));
  store_.set_slots(std::move(slots));
  return absl::OkStatus();
}

void EmbeddingTable::default_row(int64_t id, absl::Span<float> row) const {
  const DefaultValueConfig& config = options_.default_value;
  if (config.has_constant()) {
    std::fill(row.begin(), row.end(), static_cast<float>(config.constant().value()));
  } else {
    initializer_.fill(id, row);
  }
}

absl::Status EmbeddingTable::check_room(int64_t more) const {
  const bool fails = row_limit_ != kNoLimit && options_.limit.on_full() == LimitConfig::FAIL;
  const int64_t limit = std::min(fails ? row_limit_ : kNoLimit, RowStore::kMaxRows);
  if (more <= limit - store_.size()) return absl::OkStatus();
  return with_kind(absl::ResourceExhaustedError(absl::StrCat(
                       "table ", name(), " has ", store_.size(), " rows and needs ", more,
                       " more, but its limit is ", limit, " rows",
                       fails ? " (limit.max_rows or max_bytes, with on_full: FAIL)" : "")),
                   FailureKind::kLimit);
}

absl::Status EmbeddingTable::check_room(absl::Span<const int64_t> ids) const {
  // Most ids are known or repeat; only near the limit is it worth knowing how many.
  if (check_room(static_cast<int64_t>(ids.size())).ok()) return absl::OkStatus();
  std::vector<RowIndex> rows(ids.size());
  map_.find(ids, absl::MakeSpan(rows));
  absl::flat_hash_set<int64_t> unknown;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (rows[i] == kNoRow && admits(ids[i])) unknown.insert(ids[i]);
  }
  return check_room(static_cast<int64_t>(unknown.size()));
}

bool EmbeddingTable::admits(int64_t id) const {
  const bool full =
      options_.limit.on_full() == LimitConfig::REJECT && committed_rows() >= row_limit_;
  return !full && admission_->admits(id, applied_steps_);
}

RowIndex EmbeddingTable::add_row(int64_t id) {
  const RowIndex row = store_.add(id);
  if (store_.type() == RowType::kFloat32) {
    initializer_.fill(id, absl::MakeSpan(store_.weights(row), dim()));
  } else {
    initializer_.fill(id, absl::MakeSpan(weights_));
    store_.write_weights(row, weights_);
  }
  tentative_.push_back(row);
  return row;
}

RowIndex EmbeddingTable::make_row(int64_t id) {
  // Whether an id is admitted does not change within a step.
  const auto refused = unadmitted_.empty() ? unadmitted_.end() : unadmitted_.find(id);
  if (refused != unadmitted_.end()) {
    ++refused->second;
    return kNoRow;
  }
  if (admits(id)) return add_row(id);
  unadmitted_[id] = 1;
  return kNoRow;
}

absl::Status EmbeddingTable::find_or_insert(absl::Span<const int64_t> ids,
                                            absl::Span<RowIndex> rows) {
  RETURN_IF_ERROR(check_room(ids));
  map_.find_or_insert(ids, rows, [this](int64_t id) { return make_row(id); });
  return absl::OkStatus();
}

void EmbeddingTable::see(int64_t step, absl::Span<const RowIndex> rows,
                         absl::Span<const uint32_t> counts) {
  constexpr uint64_t kMaxFrequency = std::numeric_limits<uint32_t>::max();
  MILLRACE_CHECK(step >= 0 && step <= kMaxStep) << "table " << name() << ", step " << step;
  store_.preserve(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    RowMeta& meta = store_.meta(rows[i]);
    const uint64_t frequency = uint64_t{meta.frequency} + counts[i];
    meta.frequency = static_cast<uint32_t>(std::min(frequency, kMaxFrequency));
    meta.last_step = static_cast<uint32_t>(step);
    counted_.occurrences += counts[i];
    hottest_ = std::max(hottest_, counts[i]);
  }
  counted_.unique_ids += static_cast<int64_t>(rows.size());
}

void EmbeddingTable::commit(int64_t step) {
  for (const auto& [id, count] : unadmitted_) hottest_ = std::max(hottest_, count);
  counted_.hottest += std::exchange(hottest_, 0);
  counted_.unique_ids += static_cast<int64_t>(unadmitted_.size());
  counted_.inserted += static_cast<int64_t>(tentative_.size());
  ++counted_.steps;
  count_unadmitted();
  tentative_.clear();
  step_ = step;
  ++applied_steps_;
  if (store_.frozen()) compact();
  keep_limit();
}

void EmbeddingTable::count_unadmitted() {
  if (admission_->admits_all() && unadmitted_.empty()) return;
  std::vector<int64_t> ids;
  std::vector<uint32_t> counts;
  for (const auto& [id, count] : unadmitted_) {
    ids.push_back(id);
    counts.push_back(count);
    counted_.unadmitted += count;
    counted_.occurrences += count;
  }
  admission_->count(ids, counts);
  unadmitted_.clear();
  ids.clear();
  for (const RowIndex row : tentative_) ids.push_back(store_.id(row));
  admission_->forget(ids);
}

void EmbeddingTable::discard() {
  // Backwards, so that row numbers are handed out again in the same order.
  for (; !tentative_.empty(); tentative_.pop_back()) {
    const RowIndex row = tentative_.back();
    const int64_t id = store_.id(row);
    map_.erase({&id, 1});
    store_.remove(row);
  }
  unadmitted_.clear();
}

void EmbeddingTable::keep_limit() {
  if (store_.size() <= row_limit_ || !evicts(options_.limit.on_full())) return;
  const auto share =
      static_cast<int64_t>(options_.limit.evict_to() * static_cast<double>(row_limit_));
  const int64_t target = std::clamp<int64_t>(share, 1, row_limit_);
  const EvictionOrder order = options_.limit.on_full() == LimitConfig::EVICT_LRU
                                  ? EvictionOrder::kLeastRecent
                                  : EvictionOrder::kLeastFrequent;
  while (store_.size() > target) {
    LeastRows least(order, std::min(store_.size() - target, kEvictedAtOnce));
    for (RowIndex row = 0; row < store_.end(); ++row) {
      if (!store_.in_use(row)) continue;
      least.add(row, store_.id(row), store_.frequency(row), store_.last_step(row));
    }
    const std::vector<RowIndex> rows = least.take();
    counted_.evicted[static_cast<int>(EvictionReason::kLimit)] += static_cast<int64_t>(rows.size());
    remove(rows, step_);
  }
  compact();
}

void EmbeddingTable::compact() {
  if (!store_.thaw()) return;
  // Room for a quarter more is worth keeping: rows come, too.
  if (static_cast<int64_t>(store_.end()) * 3 / 4 < store_.size()) return;
  std::vector<int64_t> ids;
  std::vector<RowIndex> rows;
  store_.compact([&](int64_t id, RowIndex to) {
    ids.push_back(id);
    rows.push_back(to);
  });
  map_.erase(ids);
  size_t next = 0;
  std::vector<RowIndex> found(ids.size());
  map_.find_or_insert(ids, absl::MakeSpan(found), [&](int64_t) { return rows[next++]; });
}

void EmbeddingTable::remove(absl::Span<const RowIndex> rows, int64_t step) {
  std::vector<int64_t> ids;
  ids.reserve(rows.size());
  for (const RowIndex row : rows) ids.push_back(store_.id(row));
  map_.erase(ids);
  for (const RowIndex row : rows) store_.remove(row);
  evicted_.add(step, ids);
}

absl::StatusOr<EvictionCounts> EmbeddingTable::evict(const EvictionTime& now) {
  WriterLock lock(mutex_);
  if (!tentative_.empty() || !unadmitted_.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("evicting from table ", name(), " inside a step"));
  }
  EvictionCounts counts = {};
  if (!eviction_.has_value()) return counts;
  std::vector<RowIndex> rows;
  const int64_t step = std::max(now.step, step_);
  for (RowIndex row = 0; row < store_.end(); ++row) {
    if (!store_.in_use(row)) continue;
    if (eviction_->needs_weights()) store_.read_weights(row, absl::MakeSpan(weights_));
    const std::optional<EvictionReason> reason =
        eviction_->verdict(now, store_.frequency(row), store_.last_step(row), weights_);
    if (!reason.has_value()) continue;
    ++counts[static_cast<int>(*reason)];
    rows.push_back(row);
    if (rows.size() < kEvictedAtOnce) continue;
    remove(rows, step);
    rows.clear();
  }
  remove(rows, step);
  for (int i = 0; i < kEvictionReasons; ++i) counted_.evicted[i] += counts[i];
  compact();
  return counts;
}

absl::StatusOr<std::vector<int64_t>> EmbeddingTable::evicted_since(int64_t step) const {
  absl::StatusOr<std::vector<int64_t>> ids = evicted_.since(step);
  RETURN_IF_ERROR(ids.status(), absl::StrCat("table ", name()));
  std::vector<RowIndex> rows(ids->size());
  map_.find(*ids, absl::MakeSpan(rows));
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == kNoRow) (*ids)[kept++] = (*ids)[i];
  }
  ids->resize(kept);
  return ids;
}

TableStatistics EmbeddingTable::statistics() const {
  TableStatistics statistics = counted_;
  statistics.rows = committed_rows();
  statistics.bytes = store_.bytes() + store_.bookkeeping_bytes() + map_.bytes() +
                     admission_->bytes() + evicted_.bytes();
  statistics.load = map_.load();
  statistics.candidates = admission_->candidates();
  return statistics;
}

std::vector<HotId> EmbeddingTable::hottest(int64_t count) const {
  // (frequency, ~hash): the least of those kept is on top.
  using Key = std::pair<uint64_t, uint64_t>;
  std::priority_queue<Key, std::vector<Key>, std::greater<Key>> kept;
  for (RowIndex row = 0; row < store_.end(); ++row) {
    if (!store_.in_use(row)) continue;
    kept.emplace(store_.frequency(row), ~placement_hash(store_.id(row)));
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
