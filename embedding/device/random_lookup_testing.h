// Random lookups for tests of pooling.
#ifndef MILLRACE_EMBEDDING_DEVICE_RANDOM_LOOKUP_TESTING_H_
#define MILLRACE_EMBEDDING_DEVICE_RANDOM_LOOKUP_TESTING_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "embedding/device/pool_rows.h"

namespace millrace {

// The content of a lookup, in host memory.
struct RandomLookup {
  std::vector<char> rows;
  std::vector<uint32_t> places;
  std::vector<int64_t> offsets = {0};
  std::vector<float> weights;  // empty: all 1
  RowType type = RowType::kFloat32;
  ListDivisor divisor = ListDivisor::kOne;
  int64_t dim = 0;

  int64_t batch() const { return static_cast<int64_t>(offsets.size()) - 1; }

  // Creates `batch` lists of 0 to 8 ids. Rows have any finite weights, including subnormal ones.
  // Over a third of the lists are empty, and the offsets may begin above 0.
  static RandomLookup make(int64_t dim, RowType type, ListDivisor divisor, bool weighted,
                           int64_t batch, uint32_t seed) {
    std::mt19937 random(seed);
    RandomLookup lookup;
    lookup.dim = dim;
    lookup.type = type;
    lookup.divisor = divisor;
    const int64_t rows = 1 + random() % 50;
    lookup.add_rows(rows, random);
    lookup.offsets = {static_cast<int64_t>(random() % 5)};
    for (int64_t list = 0; list < batch; ++list) {
      const int64_t ids = random() % 3 == 0 ? 0 : random() % 9;
      for (int64_t i = 0; i < ids; ++i) {
        lookup.places.push_back(static_cast<uint32_t>(random() % rows));
        if (weighted) lookup.weights.push_back(static_cast<float>(random() % 1999) / 997 - 1);
      }
      lookup.offsets.push_back(lookup.offsets.back() + ids);
    }
    return lookup;
  }

  // Returns a lookup that borrows all memory. `output` has batch() × dim floats.
  DeviceLookup view(float* output) const {
    DeviceLookup view;
    view.rows = rows.data();
    view.places = places.data();
    view.offsets = offsets.data();
    view.weights = weights.empty() ? nullptr : weights.data();
    view.output = output;
    view.type = type;
    view.divisor = divisor;
    view.dim = dim;
    view.batch = batch();
    view.stride = dim;
    return view;
  }

 private:
  void add_rows(int64_t count, std::mt19937& random) {
    if (type == RowType::kFloat32) {
      std::normal_distribution<float> weight;
      std::vector<float> weights(count * dim);
      for (float& w : weights) w = random() % 16 == 0 ? 1e-40f * weight(random) : weight(random);
      const char* bytes = reinterpret_cast<const char*>(weights.data());
      rows.assign(bytes, bytes + weights.size() * sizeof(float));
      return;
    }
    // Excludes exponents of all ones.
    const uint16_t infinite = type == RowType::kFloat16 ? 0x7c00 : 0x7f80;
    std::vector<uint16_t> weights(count * dim);
    for (uint16_t& w : weights) {
      do w = static_cast<uint16_t>(random());
      while ((w & infinite) == infinite);
    }
    const char* bytes = reinterpret_cast<const char*>(weights.data());
    rows.assign(bytes, bytes + weights.size() * sizeof(uint16_t));
  }
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_DEVICE_RANDOM_LOOKUP_TESTING_H_
