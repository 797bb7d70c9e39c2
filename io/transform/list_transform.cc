#include "io/transform/list_transform.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/hash.h"
#include "io/transform/transform.h"

namespace millrace {
namespace {

constexpr int64_t kShortList = 16;  // looked through instead of hashed

std::array<char, 8> little_endian(int64_t id) {
  std::array<char, 8> bytes;
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(static_cast<uint64_t>(id) >> (8 * i));
  return bytes;
}

float weight(const IdColumn& column, int64_t i) {
  return column.weights.empty() ? 1.0f : column.weights[i];
}

// A column that is made row by row from another one.
class Remade {
 public:
  Remade(const IdColumn& from, bool weighted) : weighted_(weighted) {
    made_.rows = from.rows;
    made_.offsets.reserve(from.rows + 1);
    made_.offsets.push_back(0);
    made_.values.reserve(from.values.size());
  }
  void add(int64_t id, float weight) {
    made_.values.push_back(id);
    if (weighted_) made_.weights.push_back(weight);
  }
  void end_row() { made_.offsets.push_back(static_cast<int64_t>(made_.values.size())); }
  float* weight_at(int64_t i) { return &made_.weights[i]; }
  int64_t row_begin() const { return made_.offsets.back(); }
  const IdColumn& made() const { return made_; }
  IdColumn take() { return std::move(made_); }

 private:
  const bool weighted_;
  IdColumn made_;
};

}  // namespace

void make_jagged(IdColumn* column) {
  if (!column->offsets.empty()) return;
  column->offsets.resize(column->rows + 1);
  for (int64_t row = 0; row <= column->rows; ++row) column->offsets[row] = row;
}

void multi_hash(HashTransform::Function function, uint64_t seed, int64_t count, uint64_t divisor,
                const StringValues* texts, IdColumn* column) {
  Remade made(*column, !column->weights.empty());
  for (int64_t row = 0; row < column->rows; ++row) {
    for (int64_t i = column->begin(row); i < column->end(row); ++i) {
      std::array<char, 8> bytes;
      absl::string_view value;
      if (texts != nullptr) {
        value = (*texts)[i];
      } else {
        bytes = little_endian(column->values[i]);
        value = absl::string_view(bytes.data(), bytes.size());
      }
      for (int64_t k = 0; k < count; ++k) {
        const uint64_t hash = hash_bytes(function, value, seed + static_cast<uint64_t>(k));
        made.add(static_cast<int64_t>(static_cast<uint64_t>(k) * divisor + hash % divisor),
                 weight(*column, i));
      }
    }
    made.end_row();
  }
  *column = made.take();
}

void cross(const IdColumn& other, int64_t first_row, uint64_t seed, IdColumn* column) {
  Remade made(*column, !column->weights.empty() || !other.weights.empty());
  for (int64_t row = 0; row < column->rows; ++row) {
    for (int64_t i = column->begin(row); i < column->end(row); ++i) {
      for (int64_t j = other.begin(first_row + row); j < other.end(first_row + row); ++j) {
        std::array<char, 16> bytes;
        std::memcpy(bytes.data(), little_endian(column->values[i]).data(), 8);
        std::memcpy(bytes.data() + 8, little_endian(other.values[j]).data(), 8);
        made.add(static_cast<int64_t>(xxh3({bytes.data(), bytes.size()}, seed)),
                 weight(*column, i) * weight(other, j));
      }
    }
    made.end_row();
  }
  *column = made.take();
}

void truncate(int64_t count, TruncateTransform::Keep keep, IdColumn* column) {
  if (column->offsets.empty()) return;  // one each
  Remade made(*column, !column->weights.empty());
  for (int64_t row = 0; row < column->rows; ++row) {
    int64_t begin = column->begin(row), end = column->end(row);
    if (keep == TruncateTransform::FIRST) {
      end = begin + std::min(end - begin, count);
    } else {
      begin = end - std::min(end - begin, count);
    }
    for (int64_t i = begin; i < end; ++i) made.add(column->values[i], weight(*column, i));
    made.end_row();
  }
  *column = made.take();
}

void unique(IdColumn* column) {
  if (column->offsets.empty()) return;
  const bool weighted = !column->weights.empty();
  Remade made(*column, weighted);
  absl::flat_hash_map<int64_t, int64_t> places;
  for (int64_t row = 0; row < column->rows; ++row) {
    const int64_t begin = column->begin(row), end = column->end(row);
    const bool is_short = end - begin <= kShortList;
    places.clear();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t id = column->values[i];
      const std::vector<int64_t>& values = made.made().values;
      int64_t place = static_cast<int64_t>(values.size());
      if (is_short) {
        place = std::find(values.begin() + made.row_begin(), values.end(), id) - values.begin();
      } else {
        place = places.try_emplace(id, place).first->second;
      }
      if (place == static_cast<int64_t>(values.size())) {
        made.add(id, weight(*column, i));
      } else if (weighted) {
        *made.weight_at(place) += column->weights[i];
      }
    }
    made.end_row();
  }
  *column = made.take();
}

void keep_values(absl::Span<const uint8_t> flags, IdColumn* column) {
  if (std::find(flags.begin(), flags.end(), 0) == flags.end()) return;
  Remade made(*column, !column->weights.empty());
  for (int64_t row = 0; row < column->rows; ++row) {
    for (int64_t i = column->begin(row); i < column->end(row); ++i) {
      if (flags[i] != 0) made.add(column->values[i], weight(*column, i));
    }
    made.end_row();
  }
  *column = made.take();
}

}  // namespace millrace
