#include "base/isa/instruction_set_choice.h"
#include "io/format/cell_index.h"

namespace millrace {

IndexCells index_cells(InstructionSet set) {
  static constexpr IndexCells kBaseline = baseline::index_cells;
  static constexpr IndexCells kAvx2 = avx2::index_cells;
  static constexpr IndexCells kAvx512 = avx512::index_cells;
  return choose(set, kBaseline, kAvx2, kAvx512);
}

IndexMarks index_marks(InstructionSet set) {
  static constexpr IndexMarks kBaseline = baseline::index_marks;
  static constexpr IndexMarks kAvx2 = avx2::index_marks;
  static constexpr IndexMarks kAvx512 = avx512::index_marks;
  return choose(set, kBaseline, kAvx2, kAvx512);
}

}  // namespace millrace
