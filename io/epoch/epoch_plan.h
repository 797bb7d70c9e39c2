// The order of all rows in an epoch, as a pure function of (sizes, seed, epoch).
#ifndef MILLRACE_IO_EPOCH_EPOCH_PLAN_H_
#define MILLRACE_IO_EPOCH_EPOCH_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace millrace {

// A unit of work: rows [begin, begin + count) of one row group of one file.
struct Unit {
  int64_t file = 0;
  int64_t group = 0;
  int64_t begin = 0;
  int64_t count = 0;
  friend bool operator==(const Unit&, const Unit&) = default;
};

// A larger row group makes several units. Part of the order of rows: changing it changes results.
inline constexpr int64_t kMaxUnitRows = 16384;

// The units of files in the order of the files, given the rows of each file's groups. Groups
// without rows make none; groups of more than `max_rows` make several of nearly equal size.
std::vector<Unit> make_units(absl::Span<const std::vector<int64_t>> group_rows, int64_t max_rows);

// `count` numbers 0, 1, ... shuffled: Fisher and Yates's shuffle (Durstenfeld 1964) with
// numbers from Philox, a pure function of the arguments. REQUIRES: count < 2^31.
std::vector<int32_t> permutation(int64_t count, uint64_t key);

// The order of an epoch. With shuffle_rows > 0 files, the groups of each file and the units of
// each group are permuted by (seed, epoch); consecutive units up to shuffle_rows rows (at least
// one unit) form a block, whose rows are permuted by (seed, epoch, block). With 0 everything
// keeps the order of the files, and each unit is a block. Rows are numbered in that order: their
// *positions*, which cursors count in. Immutable; thread-safe.
//
//   for (int64_t b = 0; b < plan.blocks().size(); ++b)
//     for (const Unit& unit : plan.units(b)) read(unit);
class EpochPlan {
 public:
  struct Block {
    int64_t first_unit = 0;
    int64_t unit_count = 0;
    int64_t first_position = 0;
    int64_t rows = 0;
  };

  // `units` are from make_units. REQUIRES: shuffle_rows < 2^31.
  EpochPlan(std::vector<Unit> units, int64_t shuffle_rows, uint64_t seed, int64_t epoch);

  int64_t epoch() const { return epoch_; }
  int64_t rows() const { return rows_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  absl::Span<const Unit> units(int64_t block) const;

  // The block that holds a position. REQUIRES: 0 <= position < rows().
  int64_t block_at(int64_t position) const;

  // Returns the row at each position of a block: rows are numbered as its units lie end to end.
  std::vector<int32_t> row_order(int64_t block) const;

 private:
  bool shuffled() const { return shuffle_rows_ > 0; }
  void permute_units(std::vector<Unit> units);

  const int64_t shuffle_rows_;
  const uint64_t seed_;
  const int64_t epoch_;
  int64_t rows_ = 0;
  std::vector<Unit> units_;  // in the order of the epoch
  std::vector<Block> blocks_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_EPOCH_PLAN_H_
