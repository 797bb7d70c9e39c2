// Selection of the rows of tables that a checkpoint holds.
#ifndef MILLRACE_CHECKPOINT_STATE_ROW_FILTER_H_
#define MILLRACE_CHECKPOINT_STATE_ROW_FILTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"
#include "proto/parts/kind_registry.h"

namespace millrace {

// A row that may be saved.
struct RowToSave {
  absl::string_view table;
  int64_t id = 0;
  int64_t frequency = 0;  // occurrences of the id in applied steps
  int64_t last_step = 0;  // the last applied step that had the id
  int64_t step = 0;       // applied steps, of the checkpoint
};

// Interface of row filters.
class RowFilter {
 public:
  virtual ~RowFilter() = default;

  // Returns true if the row is saved. The result depends on `row` alone, so that jobs of any number
  // of ranks save the same rows. Called for each row of a table when a checkpoint is made, while
  // training waits; from several threads. Does not throw.
  virtual bool saves(const RowToSave& row) const = 0;
};

// Makes a row filter. `config` has the extension that the part reads.
using RowFilterFactory =
    std::function<absl::StatusOr<std::unique_ptr<RowFilter>>(const CustomConfig& config)>;

using RowFilterRegistry = KindRegistry<RowFilterConfig, RowFilterFactory>;

// Returns the registry of row filters, which also has the built-in kinds.
RowFilterRegistry& row_filter_registry();

// A filter and the tables that it applies to.
struct TableRowFilter {
  // Shared by the copies of this struct. Null: all rows are saved.
  std::shared_ptr<const RowFilter> filter;
  // Patterns (optim/name_pattern.h). Empty: all tables.
  std::vector<std::string> tables = {};

  // Returns true if rows of this table may be omitted.
  bool filters(absl::string_view table) const;
};

// Checks the numbers, names and patterns. Errors: InvalidArgument that begins with `where`.
absl::Status check_row_filter(absl::string_view where, const RowFilterConfig& config);

// Returns the filter that `config` chooses. Errors: any error of check_row_filter() and of a
// registered filter.
absl::StatusOr<TableRowFilter> create_row_filter(const RowFilterConfig& config);

}  // namespace millrace

// At namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_ROW_FILTER(even_ids, "rows of even ids", &EvenIds::create);
#define MILLRACE_REGISTER_ROW_FILTER(name, description, factory) \
  MILLRACE_REGISTER_PART(row_filter, name, #name, description, factory)

#endif  // MILLRACE_CHECKPOINT_STATE_ROW_FILTER_H_
