#include "embedding/table/step_plan.h"

#include <algorithm>

#include "base/status_macros.h"
#include "embedding/table/new_record.h"
#include "embedding/table/prefetch.h"
#include "embedding/table/row_updater.h"
#include "embedding/table/table_access.h"

namespace millrace {
namespace {

constexpr int64_t kChunk = 64;  // ids whose rows are prefetched together

std::vector<char> default_record(const EmbeddingTable& table, int64_t id) {
  std::vector<char> record(table.layout().weight_bytes);
  write_default_record(table, id, record.data());
  return record;
}

}  // namespace

static_assert(StepLookups::kReadRows == RowUpdater::kRows);

StepPlan::StepPlan(EmbeddingTable& table)
    : table_(&table), lookups_(table.dim(), table.kernels()) {}

absl::Status StepPlan::look_up(const IdLists& lists, const PoolingOutput& output) {
  RETURN_IF_ERROR(table_->check_room(lists.ids));
  TableWriteAccess table(*table_);
  const absl::Span<uint32_t> places = lookups_.add(lists);
  Pooler pooler(*table_, lists, output, lookups_.last_copies());
  int64_t begin = 0;
  const auto each_block = [&](int64_t end, absl::Span<const RowIndex> rows) {
    resolve(table, lists, begin, end, rows, pooler.records());
    // The records of the previous block are in the cache by now.
    pooler.advance(begin);
    begin = end;
  };
  table.find_or_insert_distinct(lists.ids, rows_, places, each_block);
  pooler.finish();
  lookups_.finish(/*all_have_rows=*/defaults_.empty());
  defaults_.clear();
  return absl::OkStatus();
}

void StepPlan::resolve(const TableWriteAccess& table, const IdLists& lists, int64_t begin,
                       int64_t end, absl::Span<const RowIndex> rows,
                       std::vector<const char*>& found) {
  const int64_t bytes = table_->layout().weight_bytes;
  for (size_t i = records_.size(); i < rows.size(); ++i) {
    records_.push_back(table.record(rows[i]));
    prefetch(records_.back(), bytes);
  }
  std::vector<uint32_t>& counts = lookups_.counts();
  counts.resize(rows.size());
  const uint32_t* const places = lookups_.last_places().data();
  for (int64_t i = begin; i < end; ++i) {
    if (places[i] == kNoPlace) {
      defaults_.push_back(default_record(*table_, lists.ids[i]));
      found[i] = defaults_.back().data();
    } else {
      ++counts[places[i]];
      found[i] = records_[places[i]];
    }
  }
}

void StepPlan::apply(const RowOptimizer& optimizer, const UpdateContext& context, int64_t step) {
  TableWriteAccess table(*table_);
  lookups_.begin_reading();
  update_rows(table, optimizer, context, step, {rows_, records_, lookups_.counts()},
              [this](size_t begin, size_t end) { return lookups_.read(begin, end); });
  table_->commit(step);
  clear();
}

void StepPlan::discard() {
  const TableWriteAccess table(*table_);
  table_->discard();
  clear();
}

void StepPlan::clear() {
  lookups_.clear();
  rows_.clear();
  records_.clear();
}

namespace {

// `record(i)` returns the record of lists.ids[i]; null: the id has no row.
template <typename Record>
int64_t pool_records(const EmbeddingTable& table, const IdLists& lists, const PoolingOutput& output,
                     const Record& record) {
  const auto count = static_cast<int64_t>(lists.ids.size());
  const int64_t bytes = table.layout().weight_bytes;
  std::deque<std::vector<char>> defaults;
  Pooler pooler(table, lists, output, lists.copies());
  std::vector<const char*>& found = pooler.records();
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    for (int64_t i = begin; i < std::min(begin + kChunk, count); ++i) {
      found[i] = record(i);
      if (found[i] == nullptr) {
        defaults.push_back(default_record(table, lists.ids[i]));
        found[i] = defaults.back().data();
      }
      prefetch(found[i], bytes);
    }
    // The records prefetched before are in the cache by now.
    pooler.advance(begin);
  }
  pooler.finish();
  return static_cast<int64_t>(defaults.size());
}

}  // namespace

int64_t look_up_read_only(const EmbeddingTable& table, const IdLists& lists,
                          const PoolingOutput& output) {
  const TableReadAccess reader(table);
  std::vector<RowIndex> rows(lists.ids.size());
  reader.find(lists.ids, absl::MakeSpan(rows));
  return pool_records(table, lists, output, [&](int64_t i) {
    return rows[i] == kNoRow ? nullptr : reader.record(rows[i]);
  });
}

int64_t look_up_read_only(const EmbeddingTable& table, const RecordSource& source,
                          const IdLists& lists, const PoolingOutput& output) {
  std::vector<const char*> records(lists.ids.size());
  source.find(lists.ids, absl::MakeSpan(records));
  return pool_records(table, lists, output, [&](int64_t i) { return records[i]; });
}

}  // namespace millrace
