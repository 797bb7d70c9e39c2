// Compiled once per instruction set: //bazel:isa_kernels.bzl lists the permitted includes.
#include "embedding/rows/kernels.h"

#include <immintrin.h>

#include <cstdint>

#include "base/isa/isa_namespace.h"
#include "base/random/philox_blocks.h"
#include "embedding/rows/row_math.h"

namespace millrace::MILLRACE_ISA {
namespace {

// The vector width of the instruction set; other widths are slower.
#if defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX2__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif
constexpr int kHalf = kWidth / 2;

// Vectors with the alignment of their elements, which may alias other types.
typedef float Floats __attribute__((vector_size(4 * kWidth), aligned(4), may_alias));
typedef uint32_t Words __attribute__((vector_size(4 * kWidth), aligned(4), may_alias));
typedef uint16_t Shorts __attribute__((vector_size(2 * kWidth), aligned(2), may_alias));
typedef float HalfFloats __attribute__((vector_size(4 * kHalf), aligned(4), may_alias));
typedef double Doubles __attribute__((vector_size(8 * kHalf), aligned(8), may_alias));

constexpr uint32_t kMagnitude = 0x7fffffff, kInfinite = 0x7f800000;
constexpr int64_t kLine = 64;  // bytes
// Number of vectors per iteration of a loop, so that their loads and arithmetic overlap.
constexpr int kTogether = 4;

template <typename To, typename From>
To bits_of(const From& value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  __builtin_memcpy(&result, &value, sizeof(result));
  return result;
}

// ---- rows to float32: scalar and vector functions have equal results ----

struct Float32 {
  typedef float Element;
  static float one(float value) { return value; }
  static Floats many(const float* row) { return *reinterpret_cast<const Floats*>(row); }
};

struct Bfloat16 {
  typedef uint16_t Element;
  static float one(uint16_t value) { return bits_of<float>(static_cast<uint32_t>(value) << 16); }
  static Floats many(const uint16_t* row) {
    const Words words = __builtin_convertvector(*reinterpret_cast<const Shorts*>(row), Words);
    return bits_of<Floats>(words << 16);
  }
};

struct Float16 {
  typedef uint16_t Element;
  // Moving the bits to their places in float32 leaves the exponent 112 too small, also for
  // subnormal numbers. Infinity and NaN need an exponent of all ones.
  static float one(uint16_t value) {
    const uint32_t magnitude = value & 0x7fffu, sign = static_cast<uint32_t>(value & 0x8000u) << 16;
    uint32_t bits = bits_of<uint32_t>(bits_of<float>(magnitude << 13) * 0x1p112f);
    if (magnitude >= 0x7c00u) bits |= kInfinite;
    return bits_of<float>(bits | sign);
  }
  static Floats many(const uint16_t* row) {
    const Words value = __builtin_convertvector(*reinterpret_cast<const Shorts*>(row), Words);
    const Words magnitude = value & 0x7fffu, sign = (value & 0x8000u) << 16;
    const Words bits = bits_of<Words>(bits_of<Floats>(magnitude << 13) * 0x1p112f);
    const Words beyond = bits_of<Words>(magnitude >= 0x7c00u) & kInfinite;
    return bits_of<Floats>(bits | beyond | sign);
  }
};

template <typename Type>
void widen(const char* row, int64_t dim, float* weights) {
  const auto* from = reinterpret_cast<const typename Type::Element*>(row);
  int64_t c = 0;
  for (; c + kWidth <= dim; c += kWidth)
    *reinterpret_cast<Floats*>(weights + c) = Type::many(from + c);
  for (; c < dim; ++c) weights[c] = Type::one(from[c]);
}

// ---- float32 to rows ----

uint16_t bfloat16_near(float value) {
  const uint32_t bits = bits_of<uint32_t>(value), magnitude = bits & kMagnitude;
  if (magnitude > kInfinite) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  if (magnitude == kInfinite) return static_cast<uint16_t>(bits >> 16);
  uint32_t rounded = (magnitude + 0x7fffu + (magnitude >> 16 & 1u)) >> 16;
  if (rounded > 0x7f7fu) rounded = 0x7f7fu;
  return static_cast<uint16_t>((bits >> 31 << 15) | rounded);
}

uint16_t bfloat16_random(float value, uint32_t random) {
  const uint32_t bits = bits_of<uint32_t>(value), magnitude = bits & kMagnitude;
  if (magnitude >= kInfinite) return bfloat16_near(value);
  uint32_t rounded = (magnitude + (random & 0xffffu)) >> 16;
  if (rounded > 0x7f7fu) rounded = 0x7f7fu;
  return static_cast<uint16_t>((bits >> 31 << 15) | rounded);
}

constexpr uint32_t kSmallestNormal16 = 113u << 23;  // 2^-14
constexpr uint32_t kLargest16 = 0x7bffu;            // 65504

// The neighbours of a value in float16: `below` is the magnitude of the lower one. `fraction` is
// the distance of the value from it, in units of 2^-24 of the distance between the neighbours.
struct Between16 {
  uint32_t below;
  uint32_t fraction;
};
Between16 between16(uint32_t magnitude) {
  if (magnitude >= kSmallestNormal16) {
    return {(magnitude - (112u << 23)) >> 13, (magnitude & 0x1fffu) << 11};
  }
  // Subnormal numbers are multiples of 2^-24.
  const float multiple = bits_of<float>(magnitude) * 0x1p24f;
  const auto below = static_cast<uint32_t>(multiple);
  const float beyond = multiple - static_cast<float>(below);
  return {below, static_cast<uint32_t>(beyond * 0x1p24f)};
}
uint16_t float16_of(uint32_t bits, uint32_t magnitude) {
  if (magnitude > kLargest16) magnitude = kLargest16;
  return static_cast<uint16_t>((bits >> 31 << 15) | magnitude);
}

uint16_t float16_not_finite(uint32_t bits) {
  const bool infinite = (bits & kMagnitude) == kInfinite;
  return static_cast<uint16_t>((bits >> 31 << 15) | (infinite ? 0x7c00u : 0x7e00u));
}

uint16_t float16_near(float value) {
  const uint32_t bits = bits_of<uint32_t>(value), magnitude = bits & kMagnitude;
  if (magnitude >= kInfinite) return float16_not_finite(bits);
  const Between16 between = between16(magnitude);
  const bool up =
      between.fraction > 0x800000u || (between.fraction == 0x800000u && (between.below & 1u) != 0);
  return float16_of(bits, between.below + (up ? 1 : 0));
}

uint16_t float16_random(float value, uint32_t random) {
  const uint32_t bits = bits_of<uint32_t>(value), magnitude = bits & kMagnitude;
  if (magnitude >= kInfinite) return float16_not_finite(bits);
  const Between16 between = between16(magnitude);
  return float16_of(bits, between.below + (between.fraction > (random & 0xffffffu) ? 1 : 0));
}

void keep_float32(const float* weights, int64_t dim, char* row) {
  __builtin_memcpy(row, weights, dim * sizeof(float));
}
template <uint16_t (*round)(float)>
void round_near(const float* weights, int64_t dim, char* row) {
  auto* to = reinterpret_cast<uint16_t*>(row);
  for (int64_t c = 0; c < dim; ++c) to[c] = round(weights[c]);
}

constexpr int kBlocks = 16;  // blocks of Philox per iteration: 64 columns

void keep_float32_randomly(const float* weights, int64_t dim, const uint32_t*, const uint32_t*,
                           char* row) {
  keep_float32(weights, dim, row);
}
template <uint16_t (*round)(float, uint32_t)>
void round_randomly(const float* weights, int64_t dim, const uint32_t key[2],
                    const uint32_t counter[3], char* row) {
  auto* to = reinterpret_cast<uint16_t*>(row);
  uint32_t words[4][kBlocks];
  for (int64_t first = 0; first < dim; first += 4 * kBlocks) {
    philox_blocks<kBlocks>(key, static_cast<uint32_t>(first / 4), counter, words);
    const int64_t end = first + 4 * kBlocks < dim ? first + 4 * kBlocks : dim;
    for (int64_t c = first; c < end; ++c) {
      to[c] = round(weights[c], words[c % 4][(c - first) / 4]);
    }
  }
}

// ---- copying and pooling ----

void store(float* to, const Floats& value) { *reinterpret_cast<Floats*>(to) = value; }

// Stores a vector past the caches. REQUIRES: `to` has the alignment of the vector.
void stream(float* to, const Floats& value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, reinterpret_cast<__m512>(value));
#elif defined(__AVX2__)
  _mm256_stream_ps(to, reinterpret_cast<__m256>(value));
#else
  _mm_stream_ps(to, reinterpret_cast<__m128>(value));
#endif
}

template <typename Type, int kVectors, bool kStream>
void copy_vectors(const typename Type::Element* row, float* output) {
  Floats values[kVectors];
  for (int v = 0; v < kVectors; ++v) values[v] = Type::many(row + v * kWidth);
  for (int v = 0; v < kVectors; ++v) {
    if constexpr (kStream) {
      stream(output + v * kWidth, values[v]);
    } else {
      store(output + v * kWidth, values[v]);
    }
  }
}

template <typename Type, bool kStream>
void copy_whole_vectors(const char* const* rows, int64_t count, int64_t dim, float* output,
                        int64_t stride) {
  for (int64_t i = 0; i < count; ++i, output += stride) {
    const auto* row = reinterpret_cast<const typename Type::Element*>(rows[i]);
    int64_t c = 0;
    for (; c + kTogether * kWidth <= dim; c += kTogether * kWidth) {
      copy_vectors<Type, kTogether, kStream>(row + c, output + c);
    }
    for (; c < dim; c += kWidth) copy_vectors<Type, 1, kStream>(row + c, output + c);
  }
}

// Returns true if only whole cache lines are written. Partial lines are slow past the caches.
bool whole_lines(const float* output, int64_t stride, int64_t dim) {
  return (reinterpret_cast<uintptr_t>(output) | 4 * stride | 4 * dim) % kLine == 0;
}

template <typename Type>
void copy_rows(const char* const* rows, int64_t count, int64_t dim, float* output, int64_t stride,
               bool past_caches) {
  if (past_caches && whole_lines(output, stride, dim)) {
    copy_whole_vectors<Type, true>(rows, count, dim, output, stride);
  } else if (dim % kWidth == 0) {
    copy_whole_vectors<Type, false>(rows, count, dim, output, stride);
  } else {
    for (int64_t i = 0; i < count; ++i) widen<Type>(rows[i], dim, output + i * stride);
  }
}

// Pools the columns [c, c + kVectors × kWidth) of a list.
template <typename Type, int kVectors, bool kStream>
void pool_columns(const char* const* rows, const float* weights, int64_t count, int64_t c,
                  float divisor, float* output) {
  typedef typename Type::Element Element;
  Floats sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = Type::many(reinterpret_cast<const Element*>(rows[0]) + c + v * kWidth);
    if (weights != nullptr) sums[v] *= weights[0];
  }
  // The sum begins with the first row, not with zero, so that a sum of -0.0 keeps its sign.
  for (int64_t i = 1; i < count; ++i) {
    const auto* row = reinterpret_cast<const Element*>(rows[i]) + c;
    for (int v = 0; v < kVectors; ++v) {
      Floats value = Type::many(row + v * kWidth);
      if (weights != nullptr) value *= weights[i];
      sums[v] += value;
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    if (divisor != 1) sums[v] /= divisor;
    if constexpr (kStream) {
      stream(output + c + v * kWidth, sums[v]);
    } else {
      store(output + c + v * kWidth, sums[v]);
    }
  }
}

// Returns the number of columns done; the rest is less than a vector.
template <typename Type, bool kStream>
int64_t pool_vectors(const char* const* rows, const float* weights, int64_t count, int64_t dim,
                     float divisor, float* output) {
  int64_t c = 0;
  for (; c + kTogether * kWidth <= dim; c += kTogether * kWidth) {
    pool_columns<Type, kTogether, kStream>(rows, weights, count, c, divisor, output);
  }
  for (; c + kWidth <= dim; c += kWidth) {
    pool_columns<Type, 1, kStream>(rows, weights, count, c, divisor, output);
  }
  return c;
}

template <typename Type>
void pool_rows(const char* const* rows, const float* weights, int64_t count, int64_t dim,
               float divisor, float* output, bool past_caches) {
  typedef typename Type::Element Element;
  const bool streams = past_caches && whole_lines(output, 0, dim);
  int64_t c = (streams ? pool_vectors<Type, true>
                       : pool_vectors<Type, false>)(rows, weights, count, dim, divisor, output);
  for (; c < dim; ++c) {
    float sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      float value = Type::one(reinterpret_cast<const Element*>(rows[i])[c]);
      if (weights != nullptr) value *= weights[i];
      sum = i == 0 ? value : sum + value;
    }
    output[c] = divisor != 1 ? sum / divisor : sum;
  }
}

// ---- gradients ----

// Gradients are scattered in memory, so they are prefetched this far ahead, across the ends of
// rows.
constexpr int64_t kAheadBytes = 8 << 10;
constexpr int64_t kLeastAhead = 2, kMostAhead = 32;  // summands

// The largest magnitudes so far, as bits.
struct Largest {
  Words words = {};
  uint32_t word = 0;

  void see(const Floats* values) {
    const Words bits = *reinterpret_cast<const Words*>(values) & kMagnitude;
    words = bits > words ? bits : words;
  }
  void see(float value) {
    const uint32_t bits = bits_of<uint32_t>(value) & kMagnitude;
    word = bits > word ? bits : word;
  }
  void see(const float* row, int64_t dim) {
    int64_t c = 0;
    for (; c + kTogether * kWidth <= dim; c += kTogether * kWidth) {
      for (int v = 0; v < kTogether; ++v) {
        see(reinterpret_cast<const Floats*>(row + c + v * kWidth));
      }
    }
    for (; c + kWidth <= dim; c += kWidth) see(reinterpret_cast<const Floats*>(row + c));
    for (; c < dim; ++c) see(row[c]);
  }
  uint32_t all() const {
    uint32_t result = word;
    for (int l = 0; l < kWidth; ++l) result = words[l] > result ? words[l] : result;
    return result;
  }
};

// Conversions use intrinsics, since compilers split a wide conversion into narrower ones. The masks
// select all elements; they avoid a warning of GCC 12 about uninitialized values in its header.
// Vectors are passed by value, since a reference would lose their reduced alignment.
Doubles to_doubles(HalfFloats values) {
#if defined(__AVX512F__)
  const auto floats = reinterpret_cast<__m256>(values);
  return reinterpret_cast<Doubles>(_mm512_maskz_cvtps_pd(0xff, floats));
#elif defined(__AVX2__)
  return reinterpret_cast<Doubles>(_mm256_cvtps_pd(reinterpret_cast<__m128>(values)));
#else
  return __builtin_convertvector(values, Doubles);
#endif
}

HalfFloats to_floats(Doubles values) {
#if defined(__AVX512F__)
  const auto doubles = reinterpret_cast<__m512d>(values);
  return reinterpret_cast<HalfFloats>(_mm512_maskz_cvtpd_ps(0xff, doubles));
#elif defined(__AVX2__)
  return reinterpret_cast<HalfFloats>(_mm256_cvtpd_ps(reinterpret_cast<__m256d>(values)));
#else
  return __builtin_convertvector(values, HalfFloats);
#endif
}

template <bool kWeighted>
struct Adder {
  const Summands& summands;
  const int64_t dim;
  const int64_t ahead;  // summands

  // Not one template, since a template argument loses the reduced alignment of vector types.
  HalfFloats half_product(int64_t i, int64_t c) const {
    const HalfFloats value = *reinterpret_cast<const HalfFloats*>(summands.gradients[i] + c);
    return kWeighted ? value * summands.coefficients[i] : value;
  }
  Floats product(int64_t i, int64_t c) const {
    const Floats value = *reinterpret_cast<const Floats*>(summands.gradients[i] + c);
    return kWeighted ? value * summands.coefficients[i] : value;
  }
  float product_of_one(int64_t i, int64_t c) const {
    const float value = summands.gradients[i][c];
    return kWeighted ? value * summands.coefficients[i] : value;
  }
  // Prefetches the columns [c, c + columns) of the summand `ahead` after summand i into the
  // second-level cache.
  void fetch(int64_t i, int64_t c, int64_t columns) const {
    if (i + ahead >= summands.end) return;
    const float* gradient = summands.gradients[i + ahead] + c;
    for (int64_t at = 0; at < columns; at += kLine / 4) __builtin_prefetch(gradient + at, 0, 2);
  }

  // Adds the columns [c, c + kVectors × kWidth) of more than two summands.
  template <int kVectors>
  void add_columns(int64_t begin, int64_t end, int64_t c, float* output) const {
    Doubles totals[2 * kVectors];
    for (int h = 0; h < 2 * kVectors; ++h) totals[h] = -Doubles{};  // as in add_column
    for (int64_t i = begin; i < end; ++i) {
      fetch(i, c, kVectors * kWidth);
      for (int h = 0; h < 2 * kVectors; ++h) {
        totals[h] += to_doubles(half_product(i, c + h * kHalf));
      }
    }
    for (int h = 0; h < 2 * kVectors; ++h) {
      *reinterpret_cast<HalfFloats*>(output + c + h * kHalf) = to_floats(totals[h]);
    }
  }

  float add_column(int64_t begin, int64_t end, int64_t c) const {
    double total = -0.0;  // the neutral element, also for -0.0
    for (int64_t i = begin; i < end; ++i) total += product_of_one(i, c);
    return static_cast<float>(total);
  }

  void add_row(int64_t begin, int64_t end, float* output) const {
    int64_t c = 0;
    if (end - begin <= 2) {
      for (int64_t i = begin; i < end; ++i) fetch(i, 0, dim);
      for (; c + kWidth <= dim; c += kWidth) {
        const Floats first = product(begin, c);
        store(output + c, end - begin == 1 ? first : first + product(begin + 1, c));
      }
    } else {
      for (; c + kTogether * kWidth <= dim; c += kTogether * kWidth) {
        add_columns<kTogether>(begin, end, c, output);
      }
      for (; c + kWidth <= dim; c += kWidth) add_columns<1>(begin, end, c, output);
    }
    for (; c < dim; ++c) output[c] = add_column(begin, end, c);
  }

  template <bool kWantsLargest>
  uint32_t add_rows(const float** sums, float* memory) const {
    Largest largest;
    for (int64_t r = 0; r < summands.rows; ++r) {
      const int64_t begin = summands.begins[r], end = summands.begins[r + 1];
      if (begin == end) {
        sums[r] = nullptr;
        continue;
      }
      if (end - begin == 1 && (!kWeighted || summands.coefficients[begin] == 1)) {
        fetch(begin, 0, dim);
        sums[r] = summands.gradients[begin];
      } else {
        add_row(begin, end, memory);
        sums[r] = memory;
        memory += dim;
      }
      if constexpr (kWantsLargest) largest.see(sums[r], dim);
    }
    return largest.all();
  }
};

template <bool kWeighted>
uint32_t add_up_some(const Summands& summands, int64_t dim, const float** sums, float* memory,
                     bool wants_largest) {
  int64_t ahead = kAheadBytes / (4 * dim);
  if (ahead < kLeastAhead) ahead = kLeastAhead;
  if (ahead > kMostAhead) ahead = kMostAhead;
  const Adder<kWeighted> adder = {summands, dim, ahead};
  return wants_largest ? adder.template add_rows<true>(sums, memory)
                       : adder.template add_rows<false>(sums, memory);
}

uint32_t add_up(const Summands& summands, int64_t dim, const float** sums, float* memory,
                bool wants_largest) {
  return (summands.coefficients != nullptr ? add_up_some<true> : add_up_some<false>)(summands, dim,
                                                                                     sums, memory,
                                                                                     wants_largest);
}

uint32_t largest_magnitude(const float* values, int64_t rows, int64_t stride, int64_t dim) {
  Largest largest;
  for (int64_t r = 0; r < rows; ++r) largest.see(values + r * stride, dim);
  return largest.all();
}

double sum_of_squared_rows(const float* const* rows, int64_t count, int64_t dim) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (rows[i] != nullptr) sum += sum_of_squares<double>(rows[i], dim);
  }
  return sum;
}

// ---- lists ----

ListsSeen look_at_lists(const int64_t* offsets, int64_t lists) {
  // The highest bit of `negative` is set if an offset or a difference is negative.
  uint64_t negative = 0, others = 0;  // others: lengths of lists other than 1
  for (int64_t i = 0; i < lists; ++i) {
    const auto begin = static_cast<uint64_t>(offsets[i]);
    const auto end = static_cast<uint64_t>(offsets[i + 1]);
    negative |= end | (end - begin);
    others |= (end - begin) ^ 1;
  }
  return {negative >> 63 == 0, others == 0};
}

}  // namespace

const Kernels kKernels = {
    {copy_rows<Float32>, copy_rows<Float16>, copy_rows<Bfloat16>},
    {pool_rows<Float32>, pool_rows<Float16>, pool_rows<Bfloat16>},
    add_up,
    largest_magnitude,
    sum_of_squared_rows,
    look_at_lists,
    {widen<Float32>, widen<Float16>, widen<Bfloat16>},
    {keep_float32, round_near<float16_near>, round_near<bfloat16_near>},
    {keep_float32_randomly, round_randomly<float16_random>, round_randomly<bfloat16_random>},
};

}  // namespace millrace::MILLRACE_ISA
