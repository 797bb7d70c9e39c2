// Helpers of the tests of id maps.
#ifndef MILLRACE_EMBEDDING_ID_MAP_ID_MAP_TESTING_H_
#define MILLRACE_EMBEDDING_ID_MAP_ID_MAP_TESTING_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "base/isa/instruction_set.h"
#include "embedding/id_map/id_map.h"
#include "embedding/rows/row_index.h"

namespace millrace {

inline constexpr int64_t kLowestId = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kHighestId = std::numeric_limits<int64_t>::max();

// Returns the instruction sets of this machine.
std::vector<InstructionSet> instruction_sets_here();

// Returns begin, begin + 1, ... end - 1.
std::vector<int64_t> id_range(int64_t begin, int64_t end);

// Returns the map's rows of the ids.
std::vector<RowIndex> find_rows(const IdMap& map, const std::vector<int64_t>& ids);

// Assigns the rows 0, 1, 2, ...
struct RowCounter {
  RowIndex operator()(int64_t id) {
    ids.push_back(id);
    return next++;
  }
  std::vector<int64_t> ids;  // ids of the calls
  RowIndex next = 0;
};

std::vector<RowIndex> insert_rows(IdMap& map, RowCounter& counter, const std::vector<int64_t>& ids);

// A step: numbers distinct rows over several calls.
struct NumberingStep {
  explicit NumberingStep(IdMap& map) : map(map) {}
  // Returns places in `distinct`.
  std::vector<uint32_t> look_up(const std::vector<int64_t>& ids, IdMap::MakeRow make_row);
  std::vector<uint32_t> look_up(const std::vector<int64_t>& ids, RowCounter& counter) {
    return look_up(ids, [&](int64_t id) { return counter(id); });
  }

  IdMap& map;
  std::vector<RowIndex> distinct;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_ID_MAP_TESTING_H_
