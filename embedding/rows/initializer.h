// The initial values of a row.
#ifndef MILLRACE_EMBEDDING_ROWS_INITIALIZER_H_
#define MILLRACE_EMBEDDING_ROWS_INITIALIZER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/isa/instruction_set.h"
#include "embedding/rows/row_initializer.h"
#include "proto/config.pb.h"

namespace millrace {

// All members except instruction_set decide the values.
struct InitializerOptions {
  InitializerConfig config;  // default: uniform with default bounds
  uint64_t seed = 1;
  absl::string_view table;  // the table's name
  int64_t dim = 1;          // columns of a row: fan-in and fan-out of Xavier and Kaiming
  InstructionSet instruction_set = best_instruction_set();  // supported by the machine
};

// The initial values of a row, as a pure function of (seed, table name, id). They do not depend on
// the order of insertion, the number of threads, the machine or the instruction set. Immutable;
// thread-safe.
//
// Column c of row `id` is computed from 32 random bits: word c mod 4 of
//   philox(key, stream = id as unsigned, index = c div 4),  key = xxh3(table name, seed)
// (base/random/philox.h, base/hash.h). From these bits, with p = (bits + ½) / 2³²,
//   constant:  the value, without bits
//   uniform:   low + (high − low) × uniform24(bits)
//   normal:    mean + stddev × quantile(p), base/random/normal_quantile.h
//   truncated normal: mean + stddev × quantile(a + (b − a) × p), where quantile(a) = low and
//              quantile(b) = high, clamped to mean + stddev × [low, high]. If both bounds are
//              positive, the mirror image of the distribution with bounds −high and −low, for
//              precision
//   Xavier:    uniform within ± gain × √(3 / dim), or normal with stddev gain / √dim.
//              X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward
//              neural networks", AISTATS 2010, with fan in = fan out = dim
//   Kaiming:   as Xavier with gain √(2 / (1 + negative_slope²)). K. He et al., "Delving deep into
//              rectifiers", ICCV 2015, with fan = dim
// The arithmetic is float64, rounded once to float32. docs/embedding.md has golden values, which
// never change.
class Initializer {
 public:
  // Creates the initializer of a table. Errors: as initializer_registry().create(); InvalidArgument
  // naming the table for numbers out of range (see the messages in proto/config.proto) or values
  // beyond float32. REQUIRES: dim >= 1.
  static absl::StatusOr<Initializer> create(const InitializerOptions& options);

  // Sets the columns [0, row.size()). row.size() may differ from dim.
  void fill(int64_t id, absl::Span<float> row) const { rows_->fill(id, row); }

 private:
  explicit Initializer(std::shared_ptr<const RowInitializer> rows) : rows_(std::move(rows)) {}

  std::shared_ptr<const RowInitializer> rows_;  // shared by copies
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_INITIALIZER_H_
