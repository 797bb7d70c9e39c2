// The shared parts of transforms of lists of ids.
#ifndef MILLRACE_IO_TRANSFORM_ID_LISTS_H_
#define MILLRACE_IO_TRANSFORM_ID_LISTS_H_

#include <cstdint>
#include <utility>

#include "absl/types/span.h"
#include "io/block.h"

namespace millrace {

// Gives a column offsets even where every row holds one id.
void make_jagged(IdColumn* column);

// Leaves out the values whose flag is 0. REQUIRES: as many flags as values.
void keep_values(absl::Span<const uint8_t> flags, IdColumn* column);

// The weight of a value: 1 where the column has no weights.
inline float weight_of(const IdColumn& column, int64_t i) {
  return column.weights.empty() ? 1.0f : column.weights[i];
}

// Builds a column row by row from another one.
class IdListBuilder {
 public:
  // `weighted`: whether the ids have weights.
  IdListBuilder(const IdColumn& from, bool weighted) : weighted_(weighted) {
    built_.rows = from.rows;
    built_.offsets.reserve(from.rows + 1);
    built_.offsets.push_back(0);
    built_.values.reserve(from.values.size());
  }
  void add(int64_t id, float weight) {
    built_.values.push_back(id);
    if (weighted_) built_.weights.push_back(weight);
  }
  void end_row() { built_.offsets.push_back(static_cast<int64_t>(built_.values.size())); }

  // The ids so far, and the begin of the open row's ids.
  const IdColumn& built() const { return built_; }
  int64_t row_begin() const { return built_.offsets.back(); }
  // REQUIRES: the ids have weights.
  void add_weight(int64_t i, float weight) { built_.weights[i] += weight; }

  // REQUIRES: every row has ended.
  IdColumn take() { return std::move(built_); }

 private:
  const bool weighted_;
  IdColumn built_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_ID_LISTS_H_
