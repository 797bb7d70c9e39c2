// The interface of custom initializers.
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_INITIALIZER_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_INITIALIZER_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace millrace {

// The inputs of an initializer of one table.
struct RowInitializerInput {
  std::string table;  // the table's name
  uint64_t seed = 1;  // of the job
  int64_t dim = 1;    // columns of a row
};

// The initial values of a row. Immutable; called from several threads at once.
class RowInitializer {
 public:
  virtual ~RowInitializer() = default;
  // Sets all columns of a new row. Called when the row is created, before its first update. `row`
  // has the first columns, up to `dim`. The values must be finite, and may depend only on the
  // table, the seed and `id`: rows are created in any order, and again after a resume. Random
  // numbers therefore come from base/random/philox.h with `id` as stream, not from a generator with
  // a state.
  virtual void fill(int64_t id, absl::Span<float> row) const = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_INITIALIZER_H_
