// The output of `millrace checkpoint show --table`.
#ifndef MILLRACE_TOOLS_CHECKPOINT_TABLE_REPORT_H_
#define MILLRACE_TOOLS_CHECKPOINT_TABLE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/inspect/checkpoint_content.h"

namespace millrace {

// The use of the rows of a table, from the counts that its checkpoint has.
struct TableUse {
  struct HotId {
    int64_t id = 0;
    int64_t frequency = 0;  // occurrences, with the decay of the table's eviction
  };
  // Rows whose last occurrence is at most `steps` steps ago, and more than the age before.
  struct Age {
    int64_t steps = 0;
    int64_t rows = 0;
  };

  std::string table;
  int64_t step = 0;
  int64_t rows = 0;
  int64_t occurrences = 0;     // sum of the frequencies
  std::vector<HotId> hottest;  // descending; of equal frequencies the lower id first
  std::vector<Age> ages;       // 0, 1, 10, 100, … steps, up to the oldest row
};

// Reads all rows of a table once. `top`: the number of `hottest`. Errors: NotFound for a table that
// does not exist or was saved without the counts of its rows (model-only checkpoints); read errors.
absl::StatusOr<TableUse> read_table_use(const CheckpointContent& content, absl::string_view table,
                                        int64_t top);

// Returns the use for people, and as a JSON object: table, step, rows, occurrences, hottest (id,
// frequency), ages (steps, rows).
std::string table_use_text(const TableUse& use);
std::string table_use_json(const TableUse& use);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_TABLE_REPORT_H_
