// Rows outside of a table.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_ROWS_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

// Rows as arrays, read from or written to a file. Element i of each array belongs to row i.
struct TableRows {
  struct Slot {
    std::string name;
    int64_t size = 0;           // numbers per row
    std::vector<float> values;  // [rows, size]
  };
  int64_t dim = 0;
  std::vector<int64_t> ids;
  std::vector<float> weights;      // [rows, dim]
  std::vector<Slot> slots;         // may be empty: only weights
  std::vector<int64_t> frequency;  // [rows], or empty: all 0
  std::vector<int64_t> last_step;  // [rows], or empty: all 0
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_ROWS_H_
