#include "embedding/table/embedding_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "embedding/policies/table_policy_check.h"
#include "proto/range_check.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<EmbeddingTable>> EmbeddingTable::create(
    EmbeddingTableOptions options) {
  if (options.name.empty()) return absl::InvalidArgumentError("a table without a name");
  const std::string where = absl::StrCat("table ", options.name);
  TableConfig numbers;
  numbers.set_dim(options.dim);
  RETURN_IF_ERROR(check_own_ranges(where, numbers));
  if (options.added_columns < 0 || options.added_columns >= options.dim) {
    return absl::InvalidArgumentError(absl::StrCat(
        "table ", options.name, ": ", options.added_columns, " added columns of ", options.dim));
  }
  // Initializer and policies are created and checked before the table, so that a table never exists
  // with invalid ones.
  ASSIGN_OR_RETURN(Initializer initializer,
                   Initializer::create({options.initializer, options.seed, options.name,
                                        options.dim, options.instruction_set}));
  RETURN_IF_ERROR(check_default_value(where, options.default_value));
  RETURN_IF_ERROR(check_limit(where, options.limit));
  ASSIGN_OR_RETURN(std::unique_ptr<Admission> admission,
                   Admission::create(options.admission, options.seed, options.name));
  std::optional<EvictionRules> eviction;
  if (options.eviction.has_value()) {
    ASSIGN_OR_RETURN(eviction, EvictionRules::create(*options.eviction, options.name));
  }
  options.blocks = pool_or_own(std::move(options.blocks));
  std::unique_ptr<EmbeddingTable> table(new EmbeddingTable(
      std::move(options), initializer, std::move(admission), std::move(eviction)));
  RETURN_IF_ERROR(table->maintenance_.set_row_limit({}));
  return table;
}

EmbeddingTable::EmbeddingTable(EmbeddingTableOptions options, Initializer initializer,
                               std::unique_ptr<Admission> admission,
                               std::optional<EvictionRules> eviction)
    : parts_(std::move(options), initializer, std::move(admission), std::move(eviction)) {}

absl::Status EmbeddingTable::set_placement(const Placement& placement) {
  if (parts_.store.size() > 0 && placement != parts_.options.placement) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", name(), " has rows already: it cannot be split over ranks any more"));
  }
  parts_.options.placement = placement;
  return absl::OkStatus();
}

absl::Status EmbeddingTable::bind(std::vector<SlotSpec> slots) {
  if (slots == parts_.store.slots()) return absl::OkStatus();
  if (parts_.store.size() > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", name(), " has rows already: its optimizer state cannot change any more"));
  }
  RETURN_IF_ERROR(maintenance_.set_row_limit(slots));
  parts_.store.set_slots(std::move(slots));
  return absl::OkStatus();
}

void EmbeddingTable::default_row(int64_t id, absl::Span<float> row) const {
  const DefaultValueConfig& config = parts_.options.default_value;
  if (config.has_constant()) {
    std::fill(row.begin(), row.end(), static_cast<float>(config.constant().value()));
  } else {
    parts_.initializer.fill(id, row);
  }
}

absl::Status EmbeddingTable::check_room(absl::Span<const int64_t> ids) const {
  // Most ids are known or repeated, so the exact number of new rows is computed only near the
  // limit.
  if (maintenance_.check_room(static_cast<int64_t>(ids.size())).ok()) return absl::OkStatus();
  std::vector<RowIndex> rows(ids.size());
  parts_.map.find(ids, absl::MakeSpan(rows));
  absl::flat_hash_set<int64_t> unknown;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (rows[i] == kNoRow && admits(ids[i])) unknown.insert(ids[i]);
  }
  return maintenance_.check_room(static_cast<int64_t>(unknown.size()));
}

bool EmbeddingTable::admits(int64_t id) const {
  const bool full = parts_.options.limit.on_full() == LimitConfig::REJECT &&
                    parts_.rows_that_count().value_or(0) >= parts_.row_limit;
  return !full && parts_.admission->admits(id, parts_.applied_steps);
}

RowIndex EmbeddingTable::add_row(int64_t id) {
  const RowIndex row = parts_.store.add(id);
  if (parts_.store.type() == RowType::kFloat32) {
    parts_.initializer.fill(id, absl::MakeSpan(parts_.store.weights(row), dim()));
  } else {
    parts_.initializer.fill(id, absl::MakeSpan(parts_.weights));
    parts_.store.write_weights(row, parts_.weights);
  }
  parts_.tentative.push_back(row);
  return row;
}

RowIndex EmbeddingTable::make_row(int64_t id) {
  // The admission of an id is constant within a step.
  const auto refused =
      parts_.unadmitted.empty() ? parts_.unadmitted.end() : parts_.unadmitted.find(id);
  if (refused != parts_.unadmitted.end()) {
    ++refused->second;
    return kNoRow;
  }
  if (admits(id)) return add_row(id);
  parts_.unadmitted[id] = 1;
  return kNoRow;
}

absl::Status EmbeddingTable::find_or_insert(absl::Span<const int64_t> ids,
                                            absl::Span<RowIndex> rows) {
  RETURN_IF_ERROR(check_room(ids));
  parts_.map.find_or_insert(ids, rows, [this](int64_t id) { return make_row(id); });
  return absl::OkStatus();
}

void EmbeddingTable::record_occurrences(int64_t step, absl::Span<const RowIndex> rows,
                                        absl::Span<const uint32_t> counts) {
  constexpr uint64_t kMaxFrequency = std::numeric_limits<uint32_t>::max();
  MILLRACE_CHECK(step >= 0 && step <= kMaxTableStep) << "table " << name() << ", step " << step;
  parts_.store.preserve(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    RowMeta& meta = parts_.store.meta(rows[i]);
    const uint64_t frequency = uint64_t{meta.frequency} + counts[i];
    meta.frequency = static_cast<uint32_t>(std::min(frequency, kMaxFrequency));
    meta.last_step = static_cast<uint32_t>(step);
    parts_.counted.occurrences += counts[i];
    parts_.hottest = std::max(parts_.hottest, counts[i]);
  }
  parts_.counted.unique_ids += static_cast<int64_t>(rows.size());
}

void EmbeddingTable::commit(int64_t step) {
  for (const auto& [id, count] : parts_.unadmitted)
    parts_.hottest = std::max(parts_.hottest, count);
  parts_.counted.hottest += std::exchange(parts_.hottest, 0);
  parts_.counted.unique_ids += static_cast<int64_t>(parts_.unadmitted.size());
  parts_.counted.inserted += static_cast<int64_t>(parts_.tentative.size());
  ++parts_.counted.steps;
  count_unadmitted();
  parts_.tentative.clear();
  parts_.step = step;
  ++parts_.applied_steps;
  if (parts_.store.frozen()) maintenance_.compact();
  maintenance_.enforce_limit();
}

void EmbeddingTable::count_unadmitted() {
  if (parts_.admission->admits_all() && parts_.unadmitted.empty()) return;
  std::vector<int64_t> ids;
  std::vector<uint32_t> counts;
  for (const auto& [id, count] : parts_.unadmitted) {
    ids.push_back(id);
    counts.push_back(count);
    parts_.counted.unadmitted += count;
    parts_.counted.occurrences += count;
  }
  parts_.admission->count(ids, counts);
  parts_.unadmitted.clear();
  ids.clear();
  for (const RowIndex row : parts_.tentative) ids.push_back(parts_.store.id(row));
  parts_.admission->forget(ids);
}

void EmbeddingTable::discard() {
  // In reverse order, so that row numbers are reused in the same order.
  for (; !parts_.tentative.empty(); parts_.tentative.pop_back()) {
    const RowIndex row = parts_.tentative.back();
    const int64_t id = parts_.store.id(row);
    parts_.map.erase({&id, 1});
    parts_.store.remove(row);
  }
  parts_.unadmitted.clear();
}

std::unique_ptr<EmbeddingTable> EmbeddingTable::make_empty() const {
  EmbeddingTableOptions options = parts_.options;
  options.blocks = parts_.store.pool();  // swap() needs a common pool
  absl::StatusOr<std::unique_ptr<EmbeddingTable>> table = create(std::move(options));
  MILLRACE_CHECK(table.ok()) << table.status();
  const absl::Status bound = (*table)->bind(slots());
  MILLRACE_CHECK(bound.ok()) << bound;
  return *std::move(table);
}

}  // namespace millrace
