#include "embedding/shard/owner_plan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "embedding/id_map/id_map.h"
#include "embedding/table/new_record.h"
#include "embedding/table/prefetch.h"
#include "embedding/table/row_updater.h"
#include "embedding/table/table_access.h"

namespace millrace {

OwnerPlan::OwnerPlan(EmbeddingTable& table, const Placement& placement)
    : table_(table),
      placement_(placement),
      shares_(placement.world_size),
      initial_(table.layout().weight_bytes),
      sums_(table.dim(), table.kernels()) {}

void OwnerPlan::begin(bool training) {
  forget_sums();
  training_ = training;
  initial_.clear();
  for (Share& share : shares_) {
    share.ids.clear();
    share.rows.clear();
    share.found.clear();
    share.records = 0;
  }
}

absl::Status OwnerPlan::find(int rank, absl::Span<const int64_t> ids) {
  Share& share = shares_[rank];
  const size_t before = share.ids.size();
  for (const int64_t id : ids) {
    if (placement_.owns(id)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "id ", id, " is one of rank ", placement_.owner(id), ", not of rank ", placement_.rank));
  }
  share.ids.insert(share.ids.end(), ids.begin(), ids.end());
  share.rows.resize(share.ids.size());
  share.found.resize(share.ids.size());
  const TableReadAccess reader(table_);
  reader.find(ids, absl::MakeSpan(share.rows).subspan(before));
  for (size_t i = before; i < share.ids.size(); ++i) {
    Found& found = share.found[i];
    found = Found::kRow;
    if (share.rows[i] == kNoRow) {
      found = training_ && table_.admits(share.ids[i]) ? Found::kNew : Found::kNone;
    }
    share.records += found != Found::kNone ? 1 : 0;
  }
  return absl::OkStatus();
}

void OwnerPlan::copy_records(int rank, char* to) const {
  constexpr size_t kAhead = 16;
  const Share& share = shares_[rank];
  const int64_t bytes = table_.layout().weight_bytes;
  const TableReadAccess reader(table_);
  for (size_t i = 0; i < share.ids.size(); ++i) {
    if (i + kAhead < share.ids.size() && share.found[i + kAhead] == Found::kRow) {
      prefetch(reader.record(share.rows[i + kAhead]), bytes);
    }
    if (share.found[i] == Found::kNone) continue;
    if (share.found[i] == Found::kRow) {
      std::memcpy(to, reader.record(share.rows[i]), bytes);
    } else {
      write_initial_record(table_, share.ids[i], to);
    }
    to += bytes;
  }
}

void OwnerPlan::find_records(int rank, size_t first, absl::Span<const char*> records) {
  const Share& share = shares_[rank];
  const TableReadAccess reader(table_);
  for (size_t n = 0; n < records.size(); ++n) {
    const size_t i = first + n;
    records[n] = nullptr;
    if (share.found[i] == Found::kRow) records[n] = reader.record(share.rows[i]);
    if (share.found[i] != Found::kNew) continue;
    char* const record = initial_.add();
    write_initial_record(table_, share.ids[i], record);
    records[n] = record;
  }
}

void OwnerPlan::set_sums(int rank, std::vector<uint32_t> counts, std::vector<const float*> sums) {
  Share& share = shares_[rank];
  MILLRACE_CHECK(counts.size() == share.ids.size() && sums.size() == share.ids.size())
      << "table " << table_.name() << ", rank " << rank;
  share.has_sums = true;
  share.counts = std::move(counts);
  share.sums = std::move(sums);
}

void OwnerPlan::merge(const Share& share, bool alone, std::vector<uint32_t>& places) {
  std::vector<int64_t> ids;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < share.ids.size(); ++i) {
    if (share.counts[i] == 0 || share.found[i] == Found::kNone) continue;
    ids.push_back(share.ids[i]);
    numbers.push_back(i);
  }
  std::vector<uint32_t> found(ids.size());
  if (alone) {
    // The ids of one rank are distinct, so they need no map.
    for (size_t i = 0; i < ids.size(); ++i) found[i] = static_cast<uint32_t>(i);
    row_ids_ = std::move(ids);
  } else {
    map_.find_or_add(ids, row_ids_, absl::MakeSpan(found));
  }
  rows_.resize(row_ids_.size(), kNoRow);
  counts_.resize(row_ids_.size());
  places.assign(share.ids.size(), kNoPlace);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t number = numbers[i];
    const uint32_t place = found[i];
    places[number] = place;
    rows_[place] = share.rows[number];
    const uint64_t count = uint64_t{counts_[place]} + share.counts[number];
    counts_[place] =
        static_cast<uint32_t>(std::min(count, uint64_t{std::numeric_limits<uint32_t>::max()}));
  }
}

bool OwnerPlan::add_up() {
  if (added_up_) return sums_are_finite_;
  size_t ranks = 0;  // ranks with ids
  for (const Share& share : shares_) {
    MILLRACE_CHECK(share.ids.empty() || share.has_sums) << "table " << table_.name();
    ranks += share.ids.empty() ? 0 : 1;
  }
  const bool alone = ranks == 1 && !shares_[placement_.rank].ids.empty();
  std::vector<std::vector<uint32_t>> places(shares_.size());
  for (size_t rank = 0; rank < shares_.size(); ++rank) {
    if (!shares_[rank].ids.empty()) merge(shares_[rank], alone, places[rank]);
  }
  // Ids without a gradient keep their place and count, but are no summands.
  for (size_t rank = 0; rank < shares_.size(); ++rank) {
    for (size_t i = 0; i < places[rank].size(); ++i) {
      if (shares_[rank].sums[i] == nullptr) places[rank][i] = kNoPlace;
    }
  }
  new_rows_ = std::count(rows_.begin(), rows_.end(), kNoRow);
  summands_.begin(row_ids_.size());
  for (const std::vector<uint32_t>& of_rank : places) summands_.count(of_rank);
  summands_.begin_adding(/*weighted=*/false);
  for (size_t rank = 0; rank < shares_.size(); ++rank) {
    for (size_t i = 0; i < places[rank].size(); ++i) {
      if (places[rank][i] != kNoPlace) summands_.add(places[rank][i], shares_[rank].sums[i]);
    }
  }
  summands_.finish();
  sums_are_finite_ = sums_.add_up(
      summands_, mean_gradients_ ? absl::MakeConstSpan(counts_) : absl::Span<const uint32_t>());
  added_up_ = true;
  return sums_are_finite_;
}

void OwnerPlan::make_rows(TableWriteAccess& table) {
  std::vector<int64_t> ids;
  std::vector<uint32_t> places;
  for (size_t place = 0; place < rows_.size(); ++place) {
    if (rows_[place] != kNoRow) continue;
    ids.push_back(row_ids_[place]);
    places.push_back(static_cast<uint32_t>(place));
  }
  std::vector<RowIndex> made(ids.size());
  table.find_or_insert(ids, absl::MakeSpan(made));
  for (size_t i = 0; i < ids.size(); ++i) {
    MILLRACE_CHECK(made[i] != kNoRow) << "table " << table_.name() << ", id " << ids[i];
    rows_[places[i]] = made[i];
  }
  // Ids that are not admitted are counted, over all ranks.
  for (const Share& share : shares_) {
    for (size_t i = 0; i < share.ids.size(); ++i) {
      if (share.found[i] == Found::kNone && share.counts[i] > 0) {
        table_.record_unadmitted(share.ids[i], share.counts[i]);
      }
    }
  }
}

void OwnerPlan::apply(const RowOptimizer& optimizer, const UpdateContext& context, int64_t step) {
  add_up();
  TableWriteAccess table(table_);
  make_rows(table);
  std::vector<char*> records(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) records[i] = table.record(rows_[i]);
  update_rows(table, optimizer, context, step, {rows_, records, counts_},
              [this](size_t begin, size_t) { return sums_.sums().data() + begin; });
  table_.commit(step);
  forget_sums();
}

void OwnerPlan::discard() { forget_sums(); }

void OwnerPlan::forget_sums() {
  for (Share& share : shares_) {
    share.has_sums = false;
    share.counts.clear();
    share.sums.clear();
  }
  added_up_ = false;
  new_rows_ = 0;
  map_.clear();
  row_ids_.clear();
  rows_.clear();
  counts_.clear();
}

}  // namespace millrace
