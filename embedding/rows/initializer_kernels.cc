// Compiled once for each instruction set: see //bazel:isa_kernels.bzl for what may be included.
#include "embedding/rows/initializer_kernels.h"

#include "base/isa/isa_namespace.h"
#include "base/random/normal_quantile.h"
#include "base/random/philox_blocks.h"

namespace millrace::MILLRACE_ISA {
namespace {

constexpr int kMostColumns = 64;  // computed in one pass
constexpr int kTailsAtOnce = 8;

// Draws the bits of kBlocks × 4 columns, beginning with column 4 × first.
template <int kBlocks>
void draw_blocks(uint64_t key, uint64_t id, uint32_t first, uint32_t* bits) {
  const uint32_t keys[2] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  const uint32_t counter[3] = {0, static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32)};
  uint32_t words[4][kBlocks];
  philox_blocks<kBlocks>(keys, first, counter, words);
  for (int b = 0; b < kBlocks; ++b) {
    for (int w = 0; w < 4; ++w) bits[4 * b + w] = words[w][b];
  }
}

template <int kColumns>
void make_uniform(const InitializerNumbers& numbers, const uint32_t* bits, float* values) {
  for (int c = 0; c < kColumns; ++c) {
    const double u = static_cast<double>(static_cast<int32_t>(bits[c] >> 8)) * 0x1p-24;
    values[c] = static_cast<float>(numbers.offset + numbers.scale * u);
  }
}

// Computes x[c] for each p[c] in a tail. Tails are rare; gathering them allows vector arithmetic.
template <int kColumns>
void fix_tails(const double* p, double* x) {
  double tail[kColumns + kTailsAtOnce];
  int place[kColumns + kTailsAtOnce];
  int count = 0;
  for (int c = 0; c < kColumns; ++c) {
    tail[count] = p[c];
    place[count] = c;
    count += in_quantile_tail(p[c]) ? 1 : 0;
  }
  for (int i = 0; i < kTailsAtOnce; ++i) tail[count + i] = 0.01;  // padding of the last pass
  for (int begin = 0; begin < count; begin += kTailsAtOnce) {
#pragma GCC unroll 1
    for (int i = begin; i < begin + kTailsAtOnce; ++i) tail[i] = tail_quantile(tail[i]);
  }
  for (int i = 0; i < count; ++i) x[place[i]] = tail[i];
}

template <int kColumns>
void make_normal(const InitializerNumbers& numbers, const uint32_t* bits, float* values) {
  double p[kColumns], x[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    p[c] = numbers.from + numbers.width * ((static_cast<double>(bits[c]) + 0.5) * 0x1p-32);
    x[c] = central_quantile(p[c]);
  }
  fix_tails<kColumns>(p, x);
  for (int c = 0; c < kColumns; ++c) {
    double value = numbers.offset + numbers.scale * x[c];
    value = value < numbers.lowest ? numbers.lowest : value;
    values[c] = static_cast<float>(value > numbers.highest ? numbers.highest : value);
  }
}

using MakeValues = void (*)(const InitializerNumbers& numbers, const uint32_t* bits, float* values);

template <MakeValues kMany, MakeValues kSome>
void fill(const InitializerNumbers& numbers, int64_t id, float* row, int64_t dim) {
  uint32_t bits[kMostColumns];
  float values[kMostColumns];
  for (int64_t column = 0; column < dim;) {
    const auto first = static_cast<uint32_t>(column / 4);
    const int64_t left = dim - column;
    const int64_t made = left > kMostColumns / 2 ? kMostColumns : kMostColumns / 4;
    if (made == kMostColumns) {
      draw_blocks<kMostColumns / 4>(numbers.key, id, first, bits);
      kMany(numbers, bits, values);
    } else {
      draw_blocks<kMostColumns / 16>(numbers.key, id, first, bits);
      kSome(numbers, bits, values);
    }
    const int64_t used = made < left ? made : left;
    for (int64_t c = 0; c < used; ++c) row[column + c] = values[c];
    column += used;
  }
}

}  // namespace

extern const InitializerKernels kInitializerKernels = {
    fill<make_uniform<kMostColumns>, make_uniform<kMostColumns / 4>>,
    fill<make_normal<kMostColumns>, make_normal<kMostColumns / 4>>};

}  // namespace millrace::MILLRACE_ISA
