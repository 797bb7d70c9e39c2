#include "embedding/shard/announced_ids.h"

#include "absl/strings/str_cat.h"
#include "embedding/id_map/id_map.h"

namespace millrace {

absl::Status not_announced_error(int64_t id) {
  return absl::InvalidArgumentError(
      absl::StrCat("id ", id,
                   " was not announced for this step; Model::lookups() must return every id that "
                   "the model looks up"));
}

void AnnouncedIds::begin(int64_t tables) { tables_ = std::vector<OfTable>(tables); }

void AnnouncedIds::add(int64_t table, absl::Span<const int64_t> ids) {
  std::vector<uint32_t> places(ids.size());
  tables_[table].map.find_or_add(ids, tables_[table].ids, absl::MakeSpan(places));
}

absl::Status AnnouncedIds::check(int64_t table, absl::Span<const int64_t> ids) const {
  if (tables_.empty()) return absl::OkStatus();
  std::vector<uint32_t> places(ids.size());
  if (tables_[table].map.find(ids, absl::MakeSpan(places))) return absl::OkStatus();
  size_t first = 0;
  while (places[first] != kNoPlace) ++first;
  return not_announced_error(ids[first]);
}

}  // namespace millrace
