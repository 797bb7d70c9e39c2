// What a new row holds.
#ifndef MILLRACE_EMBEDDING_INITIALIZER_H_
#define MILLRACE_EMBEDDING_INITIALIZER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/config.pb.h"

namespace millrace {

// The first value of a row as a pure function of (seed, table name, id): the same for any order of
// insertion, any number of threads and every machine. Immutable; safe from many threads.
//
// Column c of row `id` is made from 32 random bits: word c mod 4 of
//   philox(key, stream = id as unsigned, index = c div 4),  key = xxh3(table name, seed)
// (base/philox.h, base/hash.h). From these bits
//   constant: nothing; the value
//   uniform:  low + (high - low) × uniform24(bits)
//   normal:   mean + stddev × normal_quantile(bits)
// computed in double and rounded once to float32. docs/embedding.md has golden values; they never
// change.
class Initializer {
 public:
  // Default: uniform with its own defaults.
  // Errors: InvalidArgument for numbers that are not finite, low > high, a negative stddev.
  static absl::StatusOr<Initializer> create(const InitializerConfig& config, uint64_t seed,
                                            absl::string_view table);

  // Fills in the columns 0 up to row.size().
  void fill(int64_t id, absl::Span<float> row) const;

 private:
  enum class Kind { kConstant, kUniform, kNormal };
  Initializer(Kind kind, double offset, double scale, uint64_t key)
      : kind_(kind), offset_(offset), scale_(scale), key_(key) {}

  Kind kind_;
  double offset_;  // the value, low or mean
  double scale_;   // 0, high - low or stddev
  uint64_t key_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_INITIALIZER_H_
