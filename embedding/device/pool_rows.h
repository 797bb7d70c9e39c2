// Pooling of received rows, compiled for the device and for the host.
#ifndef MILLRACE_EMBEDDING_DEVICE_POOL_ROWS_H_
#define MILLRACE_EMBEDDING_DEVICE_POOL_ROWS_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "embedding/rows/row_type.h"

// Marks a function that nvcc also compiles for the device.
#ifdef __CUDACC__
#define MILLRACE_HOST_DEVICE __host__ __device__
#else
#define MILLRACE_HOST_DEVICE
#endif

namespace millrace {

// The divisor of the sum over a list.
enum class ListDivisor {
  kOne,         // SUM
  kLength,      // MEAN
  kRootLength,  // SQUARE_ROOT_N
};

// A lookup of one feature in received rows. All memory is borrowed and is memory of the computing
// side: the device, or the host.
struct DeviceLookup {
  const char* rows = nullptr;        // [rows, dim] of `type`, contiguous, aligned to a weight
  const uint32_t* places = nullptr;  // [ids]: row of each id
  const int64_t* offsets = nullptr;  // [batch + 1], as IdLists::offsets (embedding/table/pooling.h)
  const float* weights = nullptr;    // [ids], or null: all 1
  float* output = nullptr;           // [batch, dim]; `stride`: floats between rows
  RowType type = RowType::kFloat32;
  ListDivisor divisor = ListDivisor::kOne;
  int64_t dim = 0;
  int64_t batch = 0;
  int64_t stride = 0;
};

namespace device {

template <typename To, typename From>
MILLRACE_HOST_DEVICE To bits_of(const From& value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  memcpy(&result, &value, sizeof(result));
  return result;
}

// Conversion of rows to float32, as in embedding/rows/kernels.cc.
struct Float32Row {
  typedef float Element;
  MILLRACE_HOST_DEVICE static float widen(float value) { return value; }
};

struct Bfloat16Row {
  typedef uint16_t Element;
  MILLRACE_HOST_DEVICE static float widen(uint16_t value) {
    return bits_of<float>(static_cast<uint32_t>(value) << 16);
  }
};

struct Float16Row {
  typedef uint16_t Element;
  MILLRACE_HOST_DEVICE static float widen(uint16_t value) {
    const uint32_t magnitude = value & 0x7fffu, sign = static_cast<uint32_t>(value & 0x8000u) << 16;
    uint32_t bits = bits_of<uint32_t>(bits_of<float>(magnitude << 13) * 0x1p112f);
    if (magnitude >= 0x7c00u) bits |= 0x7f800000u;
    return bits_of<float>(bits | sign);
  }
};

// Returns one element of the output: the sum in the order of the list, divided by the divisor.
// Compilers must not contract a product and a sum (-ffp-contract=off, -fmad=false).
template <typename Row>
MILLRACE_HOST_DEVICE float pool_column(const DeviceLookup& lookup, int64_t begin, int64_t end,
                                       int64_t column) {
  const auto* rows = reinterpret_cast<const typename Row::Element*>(lookup.rows);
  float sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    float value = Row::widen(rows[lookup.places[i] * lookup.dim + column]);
    if (lookup.weights != nullptr) value *= lookup.weights[i];
    sum = i == begin ? value : sum + value;
  }
  const auto length = static_cast<float>(end - begin);
  if (lookup.divisor == ListDivisor::kOne || begin == end) return sum;
  const float divisor = lookup.divisor == ListDivisor::kLength ? length : sqrtf(length);
  return divisor != 1 ? sum / divisor : sum;
}

// Computes the share of one thread of a block. Lists are distributed over blocks, and the columns
// of a list over the threads of its block. `Index` has block(), blocks(), thread() and threads().
template <typename Row, typename Index>
MILLRACE_HOST_DEVICE void pool_rows(const DeviceLookup& lookup, const Index& index) {
  for (int64_t list = index.block(); list < lookup.batch; list += index.blocks()) {
    const int64_t begin = lookup.offsets[list] - lookup.offsets[0];
    const int64_t end = lookup.offsets[list + 1] - lookup.offsets[0];
    for (int64_t column = index.thread(); column < lookup.dim; column += index.threads()) {
      lookup.output[list * lookup.stride + column] = pool_column<Row>(lookup, begin, end, column);
    }
  }
}

}  // namespace device
}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_DEVICE_POOL_ROWS_H_
