// The layout of rows in memory.
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_LAYOUT_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_LAYOUT_H_

#include <cstdint>

#include "embedding/rows/row_index.h"
#include "embedding/rows/row_type.h"

namespace millrace {

// Returns the smallest multiple of `multiple` that is at least `value`. REQUIRES: value >= 0,
// multiple > 0.
inline int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The metadata of a row.
struct RowMeta {
  uint32_t frequency = 0;  // occurrences in committed steps; saturates
  uint32_t last_step = 0;  // the last committed step with the id
};

// The layout of rows in blocks of memory, as RowStore describes: a block has RowMeta (unless in the
// records), ids, bits of rows in use, and records. A value without memory of its rows. `blocks` are
// the addresses of all blocks; null for a block without memory.
struct RowLayout {
  // Computes the layout. REQUIRES: two rows fit into a block.
  static RowLayout create(int64_t dim, RowType type, int64_t slot_floats);

  // Returns the bytes of weights and slots, without padding of the record.
  int64_t content_bytes() const { return weight_bytes + 4 * slot_floats; }
  // Returns the number of 64-bit words of the bits of a block.
  uint64_t bit_words() const { return (rows_per_block + 63) / 64; }

  // Returns row / rows_per_block, by a multiplication: D. Lemire, O. Kaser, N. Kurz, "Faster
  // remainder by direct computation", Software: Practice and Experience 49 (2019).
  uint64_t block_number(RowIndex row) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(reciprocal) * row) >> 64);
  }
  uint64_t in_block(RowIndex row) const { return row - block_number(row) * rows_per_block; }

  char* record(char* const* blocks, RowIndex row) const {
    const uint64_t number = block_number(row);
    return blocks[number] + records_at + (row - number * rows_per_block) * record_bytes;
  }
  RowMeta* meta(char* const* blocks, RowIndex row) const {
    const uint64_t number = block_number(row);
    return reinterpret_cast<RowMeta*>(blocks[number] + metas_at +
                                      (row - number * rows_per_block) * meta_stride);
  }
  int64_t* ids(char* block) const { return reinterpret_cast<int64_t*>(block + ids_at); }
  uint64_t* bits(char* block) const { return reinterpret_cast<uint64_t*>(block + bits_at); }

  int64_t dim = 0;
  RowType type = RowType::kFloat32;
  int64_t weight_bytes = 0;  // before the slots
  int64_t slot_floats = 0;   // of all slots of a row
  int64_t record_bytes = 0;  // from one record to the next
  uint64_t rows_per_block = 1;
  uint64_t reciprocal = 0;                          // 2^64 / rows_per_block, rounded up
  int64_t ids_at = 0, bits_at = 0, records_at = 0;  // offsets in a block
  int64_t metas_at = 0, meta_stride = 0;            // of the first RowMeta; to the next one
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_LAYOUT_H_
