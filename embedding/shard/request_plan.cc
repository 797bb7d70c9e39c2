#include "embedding/shard/request_plan.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embedding/id_map/id_map.h"
#include "embedding/shard/announced_ids.h"
#include "embedding/table/new_record.h"
#include "embedding/table/prefetch.h"
#include "embedding/table/table_access.h"

namespace millrace {
namespace {

constexpr size_t kChunk = 64;  // ids whose records are prefetched together

}  // namespace

RequestPlan::RequestPlan(const EmbeddingTable& table, const Placement& placement)
    : table_(table),
      placement_(placement),
      places_of_(placement.world_size),
      defaults_(table.layout().weight_bytes),
      lookups_(table.dim(), table.kernels()) {}

void RequestPlan::begin() {
  discard();
  map_.clear();
  ids_.clear();
  requested_.clear();
  requested_places_.clear();
  request_begins_.clear();
  next_request_ = 0;
  for (std::vector<uint32_t>& places : places_of_) places.clear();
  records_.clear();
  has_record_.clear();
  defaults_.clear();
}

void RequestPlan::discard() { lookups_.clear(); }

void RequestPlan::request(absl::Span<const int64_t> ids) {
  const size_t known = ids_.size();
  const size_t begin = requested_.size();
  request_begins_.push_back(begin);
  requested_.insert(requested_.end(), ids.begin(), ids.end());
  requested_places_.resize(requested_.size());
  map_.find_or_add(ids, ids_, absl::MakeSpan(requested_places_).subspan(begin));
  records_.resize(ids_.size());
  has_record_.resize(ids_.size(), true);
  for (size_t place = known; place < ids_.size(); ++place) {
    places_of_[placement_.owner(ids_[place])].push_back(static_cast<uint32_t>(place));
  }
}

void RequestPlan::copy_ids_of(int owner, char* to) const {
  for (const uint32_t place : places_of_[owner]) {
    std::memcpy(to, &ids_[place], sizeof ids_[place]);
    to += sizeof ids_[place];
  }
}

void RequestPlan::set_no_record(uint32_t place) {
  char* const record = defaults_.add();
  write_default_record(table_, ids_[place], record);
  records_[place] = record;
  has_record_[place] = false;
}

const uint32_t* RequestPlan::places_of_request(absl::Span<const int64_t> ids) const {
  const size_t requests = request_begins_.size();
  const size_t first = next_request_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < requests; ++i) {
    const size_t request = (first + i) % requests;
    const size_t begin = request_begins_[request];
    if (requested_.size() - begin < ids.size()) continue;
    if (!std::equal(ids.begin(), ids.end(), requested_.begin() + begin)) continue;
    next_request_.store(request + 1, std::memory_order_relaxed);
    return requested_places_.data() + begin;
  }
  return nullptr;
}

absl::Status RequestPlan::find(const IdLists& lists, std::vector<uint32_t>& memory,
                               absl::Span<const uint32_t>& places) const {
  if (const uint32_t* known = places_of_request(lists.ids); known != nullptr) {
    places = {known, lists.ids.size()};
  } else {
    memory.resize(lists.ids.size());
    map_.find(lists.ids, absl::MakeSpan(memory));
    places = memory;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] == kNoPlace) return not_announced_error(lists.ids[i]);
    if (records_[places[i]] == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("the row of id ", lists.ids[i], " has not come from rank ",
                       placement_.owner(lists.ids[i]), "; rows are to be received first"));
    }
  }
  return absl::OkStatus();
}

void RequestPlan::pool(const IdLists& lists, const PoolingOutput& output, bool copies,
                       absl::Span<const uint32_t> places) const {
  // Holds the lock, since records of this rank's own ids are in the table.
  const TableReadAccess reader(table_);
  const int64_t bytes = table_.layout().weight_bytes;
  Pooler pooler(table_, lists, output, copies);
  std::vector<const char*>& records = pooler.records();
  for (size_t begin = 0; begin < places.size(); begin += kChunk) {
    for (size_t i = begin; i < std::min(begin + kChunk, places.size()); ++i) {
      records[i] = records_[places[i]];
      prefetch(records[i], bytes);
    }
    // The records prefetched before are in the cache by now.
    pooler.advance(static_cast<int64_t>(begin));
  }
  pooler.finish();
}

absl::Status RequestPlan::look_up(const IdLists& lists, const PoolingOutput& output) {
  absl::Span<const uint32_t> found;
  RETURN_IF_ERROR(find(lists, found_, found));
  const absl::Span<uint32_t> places = lookups_.add(lists);
  std::vector<uint32_t>& counts = lookups_.counts();
  counts.resize(ids_.size());
  bool all_have_records = true;
  for (size_t i = 0; i < found.size(); ++i) {
    ++counts[found[i]];
    const bool has_record = has_record_[found[i]] != 0;
    places[i] = has_record ? found[i] : kNoPlace;
    all_have_records = all_have_records && has_record;
  }
  pool(lists, output, lookups_.last_copies(), found);
  lookups_.finish(all_have_records);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> RequestPlan::look_up_read_only(const IdLists& lists,
                                                       const PoolingOutput& output) const {
  std::vector<uint32_t> memory;
  absl::Span<const uint32_t> places;
  RETURN_IF_ERROR(find(lists, memory, places));
  pool(lists, output, lists.copies(), places);
  return std::count_if(places.begin(), places.end(),
                       [this](uint32_t place) { return has_record_[place] == 0; });
}

}  // namespace millrace
