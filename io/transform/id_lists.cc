#include "io/transform/id_lists.h"

#include <algorithm>

namespace millrace {

void make_jagged(IdColumn* column) {
  if (!column->offsets.empty()) return;
  column->offsets.resize(column->rows + 1);
  for (int64_t row = 0; row <= column->rows; ++row) column->offsets[row] = row;
}

void keep_values(absl::Span<const uint8_t> flags, IdColumn* column) {
  if (std::find(flags.begin(), flags.end(), 0) == flags.end()) return;
  IdListBuilder kept(*column, !column->weights.empty());
  for (int64_t row = 0; row < column->rows; ++row) {
    for (int64_t i = column->begin(row); i < column->end(row); ++i) {
      if (flags[i] != 0) kept.add(column->values[i], weight_of(*column, i));
    }
    kept.end_row();
  }
  *column = kept.take();
}

}  // namespace millrace
