// What a new row holds.
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

// Decides the values: all but the instruction set.
struct InitializerOptions {
  InitializerConfig config;  // Default: uniform with its own defaults
  uint64_t seed = 1;
  absl::string_view table;  // its name
  int64_t dim = 1;          // columns of a row: fan in and fan out of Xavier's and Kaiming's
  InstructionSet instruction_set = best_instruction_set();  // one that this machine has
};

// The first value of a row as a pure function of (seed, table name, id): the same for any order of
// insertion, any number of threads, every machine and instruction set. Immutable; safe from many
// threads.
//
// Column c of row `id` is made from 32 random bits: word c mod 4 of
//   philox(key, stream = id as unsigned, index = c div 4),  key = xxh3(table name, seed)
// (base/random/philox.h, base/hash.h). From these bits, with p = (bits + ½) / 2³²,
//   constant:  nothing; the value
//   uniform:   low + (high − low) × uniform24(bits)
//   normal:    mean + stddev × quantile(p), base/random/normal_quantile.h
//   truncated normal: mean + stddev × quantile(a + (b − a) × p), where quantile(a) = low and
//              quantile(b) = high, but not outside mean + stddev × [low, high]; where both bounds
//              are positive, the mirror image of that with bounds −high and −low, which is more
//              exact
//   Xavier:    uniform within ± gain × √(3 / dim), or normal with stddev gain / √dim.
//              X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward
//              neural networks", AISTATS 2010, with fan in = fan out = dim
//   Kaiming:   the same with gain √(2 / (1 + negative_slope²)). K. He et al., "Delving deep into
//              rectifiers", ICCV 2015, with fan = dim
// computed in double and rounded once to float32. docs/embedding.md has golden values; they never
// change.
class Initializer {
 public:
  // Errors: those of initializer_registry().create(); InvalidArgument naming the table for numbers
  // that are out of range (see the messages in proto/config.proto) or lead beyond float32.
  // REQUIRES: dim >= 1.
  static absl::StatusOr<Initializer> create(const InitializerOptions& options);

  // Fills in the columns 0 up to row.size(), which need not be dim.
  void fill(int64_t id, absl::Span<float> row) const { rows_->fill(id, row); }

 private:
  explicit Initializer(std::shared_ptr<const RowInitializer> rows) : rows_(std::move(rows)) {}

  std::shared_ptr<const RowInitializer> rows_;  // shared by copies
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_INITIALIZER_H_
