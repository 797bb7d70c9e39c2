#include "embedding/pooling.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr int64_t kPrefetch = 16;  // rows ahead

void pool_list(const IdLists& lists, int64_t list, absl::Span<const float* const> rows,
               int64_t dim, float* __restrict output) {
  const int64_t begin = lists.begin(list), end = lists.end(list);
  if (begin == end) std::fill_n(output, dim, 0.0f);
  for (int64_t i = begin; i < end; ++i) {
    if (i + kPrefetch < static_cast<int64_t>(rows.size())) {
      __builtin_prefetch(rows[i + kPrefetch]);
    }
    const float* __restrict row = rows[i];
    const float weight = lists.weights.empty() ? 1.0f : lists.weights[i];
    if (i == begin) {
      for (int64_t c = 0; c < dim; ++c) output[c] = weight * row[c];
    } else {
      for (int64_t c = 0; c < dim; ++c) output[c] += weight * row[c];
    }
  }
  if (lists.pooling == MEAN && end - begin > 1) {
    const auto length = static_cast<float>(end - begin);
    for (int64_t c = 0; c < dim; ++c) output[c] /= length;
  }
}

}  // namespace

void pool(const IdLists& lists, absl::Span<const float* const> rows, int64_t dim, float* output,
          int64_t stride) {
  if (lists.pooling == NONE) {
    for (size_t i = 0; i < rows.size(); ++i) std::copy_n(rows[i], dim, output + i * stride);
    return;
  }
  for (int64_t list = 0; list < lists.batch(); ++list) {
    pool_list(lists, list, rows, dim, output + list * stride);
  }
}

}  // namespace millrace
