// Rows outside a table.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_ROWS_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

// Rows as plain arrays, on their way from or to a file; row i is the i-th of each.
struct TableRows {
  struct Slot {
    std::string name;
    int64_t size = 0;           // numbers per row
    std::vector<float> values;  // [rows, size]
  };
  int64_t dim = 0;
  std::vector<int64_t> ids;
  std::vector<float> weights;      // [rows, dim]
  std::vector<Slot> slots;         // may be empty: weights alone
  std::vector<int64_t> frequency;  // [rows], or empty: all 0
  std::vector<int64_t> last_step;  // [rows], or empty: all 0
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_ROWS_H_
