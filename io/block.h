// Rows of several units, read and transformed, in the shuffled order of an epoch.
#ifndef MILLRACE_IO_BLOCK_H_
#define MILLRACE_IO_BLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "io/column.h"

namespace millrace {

// Lists of ids, one a row. Row r holds values offsets[r] up to offsets[r + 1]; rows + 1 offsets,
// or none: every row holds exactly one id.
struct IdColumn {
  int64_t rows = 0;
  std::vector<int64_t> offsets;
  std::vector<int64_t> values;
  std::vector<float> weights = {};  // of the values; empty: all 1

  int64_t begin(int64_t row) const { return offsets.empty() ? row : offsets[row]; }
  int64_t end(int64_t row) const { return offsets.empty() ? row + 1 : offsets[row + 1]; }
};

// A row of a block that belongs to the data, and the row's place in the order of the epoch.
struct BlockRow {
  int32_t row = 0;       // index into the columns
  int64_t position = 0;  // see RowInterval
};

// The features of a block's rows, one column for each in the order of the FeatureSchema; `order`
// gives the rows of the block and their sequence.
struct Block {
  std::vector<IdColumn> sparse;
  std::vector<std::vector<float>> dense;
  std::vector<std::vector<float>> labels;
  std::vector<float> weights;  // empty: the schema has none
  std::vector<int64_t> example_ids;
  std::vector<int64_t> group_ids;  // empty: the schema has none
  std::vector<Column> kept;        // one for each of FeatureSchema::kept_columns()
  std::vector<BlockRow> order;
  std::vector<int64_t> bad_positions;  // of rows left out as bad data, ascending
  std::string bad_row;                 // what is wrong with the first one in the files
};

// Puts the columns in the order of `order` and drops rows that `order` omits. Consecutive rows are
// then adjacent in memory.
void put_in_order(Block* block);

// Returns true if consecutive rows of `rows` are adjacent in the columns.
bool is_in_order(absl::Span<const BlockRow> rows);

}  // namespace millrace

#endif  // MILLRACE_IO_BLOCK_H_
