// The ends of the cells of delimited text, found by vector instructions. Kernels include this, so
// it is plain.
#ifndef MILLRACE_IO_FORMAT_CELL_INDEX_H_
#define MILLRACE_IO_FORMAT_CELL_INDEX_H_

#include <cstdint>

#include "base/isa/instruction_set.h"

namespace millrace {

// Bytes behind a text that must be readable; what they hold does not matter.
inline constexpr int64_t kTextPadding = 64;

struct CellCounts {
  int64_t cells = 0;
  int64_t lines = 0;
};

// Finds every delimiter and line feed of text[0, size): `ends` gets their places in order, and
// `lines` for each line feed its index in `ends`. So cell i is text[ends[i - 1] + 1, ends[i]).
// REQUIRES: size < 2^31; room for size + 8 ends and for a line for each line feed; padding.
using IndexCells = CellCounts (*)(const char* text, int64_t size, char delimiter, uint32_t* ends,
                                  uint32_t* lines);

// Finds every delimiter, line feed and quote of text[0, size): `places` gets their places in order.
// Returns: their number. REQUIRES: size < 2^31; room for size + 8 places; padding.
using IndexMarks = int64_t (*)(const char* text, int64_t size, char delimiter, uint32_t* places);

// REQUIRES: has_instruction_set(set).
IndexCells index_cells(InstructionSet set);
IndexMarks index_marks(InstructionSet set);

// The functions it chooses from.
namespace baseline {
CellCounts index_cells(const char* text, int64_t size, char delimiter, uint32_t* ends,
                       uint32_t* lines);
int64_t index_marks(const char* text, int64_t size, char delimiter, uint32_t* places);
}  // namespace baseline
namespace avx2 {
CellCounts index_cells(const char* text, int64_t size, char delimiter, uint32_t* ends,
                       uint32_t* lines);
int64_t index_marks(const char* text, int64_t size, char delimiter, uint32_t* places);
}  // namespace avx2
namespace avx512 {
CellCounts index_cells(const char* text, int64_t size, char delimiter, uint32_t* ends,
                       uint32_t* lines);
int64_t index_marks(const char* text, int64_t size, char delimiter, uint32_t* places);
}  // namespace avx512

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_CELL_INDEX_H_
