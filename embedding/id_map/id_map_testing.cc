#include "embedding/id_map/id_map_testing.h"

#include <gtest/gtest.h>

#include <numeric>

namespace millrace {

std::vector<InstructionSet> instruction_sets_here() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : kInstructionSets) {
    if (has_instruction_set(set)) sets.push_back(set);
  }
  return sets;
}

std::vector<int64_t> id_range(int64_t begin, int64_t end) {
  std::vector<int64_t> ids(end - begin);
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

std::vector<RowIndex> find_rows(const IdMap& map, const std::vector<int64_t>& ids) {
  std::vector<RowIndex> rows(ids.size());
  map.find(ids, absl::MakeSpan(rows));
  return rows;
}

std::vector<RowIndex> insert_rows(IdMap& map, RowCounter& counter,
                                  const std::vector<int64_t>& ids) {
  std::vector<RowIndex> rows(ids.size());
  map.find_or_insert(ids, absl::MakeSpan(rows), [&](int64_t id) { return counter(id); });
  return rows;
}

std::vector<uint32_t> NumberingStep::look_up(const std::vector<int64_t>& ids,
                                             IdMap::MakeRow make_row) {
  std::vector<uint32_t> places(ids.size());
  map.find_or_insert_distinct(ids, make_row, distinct, absl::MakeSpan(places));
  return places;
}

}  // namespace millrace
