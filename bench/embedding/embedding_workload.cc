#include "bench/embedding/embedding_workload.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random/philox.h"
#include "bench/flag_checks.h"

namespace millrace {
namespace {

constexpr uint64_t kSeed = 20261121;
// Streams of random numbers for permutations, the gradient, arrivals and, from kBatches on,
// batches. The upper half of a stream is the table.
constexpr int64_t kPermutation = 0, kGradient = 1, kArrival = 2, kBatches = 3;

uint64_t random_bits(int64_t table, int64_t stream, int64_t index) {
  return philox64(kSeed, static_cast<uint64_t>(table) << 32 | static_cast<uint64_t>(stream),
                  static_cast<uint64_t>(index));
}

// Computes in double, because products of large factors overflow integers.
absl::Status check_memory(const EmbeddingShape& shape) {
  const auto tables = static_cast<double>(shape.tables), dim = static_cast<double>(shape.dim);
  const double rows = tables * static_cast<double>(shape.rows) * dim * sizeof(float);
  const double examples = tables * static_cast<double>(shape.batch);
  const double batch = examples * dim * sizeof(float) +
                       examples * static_cast<double>(shape.ids_per_feature) * sizeof(int64_t);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (rows + batch <= memory) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the weights (--tables, --rows, --dim) and one batch (--batch, "
                   "--ids_per_feature) take ",
                   (rows + batch) / 1e9, " GB; this machine has ", memory / 1e9));
}

}  // namespace

absl::StatusOr<EmbeddingWorkload> EmbeddingWorkload::create(const EmbeddingShape& shape) {
  for (const absl::Status& status :
       {check_at_least("tables", shape.tables, 1), check_at_least("rows", shape.rows, 1),
        check_at_least("dim", shape.dim, 1), check_at_least("batch", shape.batch, 1),
        check_at_least("ids_per_feature", shape.ids_per_feature, 1), check_zipf(shape.zipf)}) {
    if (!status.ok()) return status;
  }
  if (shape.rows > int64_t{1} << 31) {
    return absl::InvalidArgumentError(absl::StrCat("--rows is ", shape.rows, "; at most 2^31"));
  }
  if (shape.ids != "hashed" && shape.ids != "static") {
    return absl::InvalidArgumentError(
        absl::StrCat("--ids is \"", shape.ids, "\"; it may be static or hashed"));
  }
  if (absl::Status status = check_memory(shape); !status.ok()) return status;
  return EmbeddingWorkload(shape);
}

EmbeddingWorkload::EmbeddingWorkload(EmbeddingShape shape) : shape_(std::move(shape)) {
  double total = 0;
  for (int64_t rank = 0; rank < shape_.rows; ++rank) {
    total += std::pow(static_cast<double>(rank + 1), -shape_.zipf);
    cumulative_.push_back(total);
  }
  for (int64_t table = 0; table < shape_.tables; ++table) {
    std::vector<int32_t> rows(static_cast<size_t>(shape_.rows));
    std::iota(rows.begin(), rows.end(), 0);
    for (int64_t i = shape_.rows - 1; i > 0; --i) {
      const uint64_t other = random_bits(table, kPermutation, i) % static_cast<uint64_t>(i + 1);
      std::swap(rows[i], rows[other]);
    }
    row_of_rank_.push_back(std::move(rows));
  }
}

int64_t EmbeddingWorkload::id(int64_t table, int64_t row) const {
  if (shape_.ids == "static") return row;
  // The finalizer of MurmurHash3 (A. Appleby, 2010), a bijection.
  uint64_t x = static_cast<uint64_t>(table) << 40 | static_cast<uint64_t>(row);
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return static_cast<int64_t>(x ^ (x >> 33));
}

void EmbeddingWorkload::draw(int64_t table, int64_t stream, int64_t count, int64_t* rows) const {
  for (int64_t i = 0; i < count; ++i) {
    const double uniform = static_cast<double>(random_bits(table, stream, i) >> 11) * 0x1p-53;
    const auto rank =
        std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, uniform * cumulative_.back()) -
        cumulative_.begin();
    rows[i] = row_of_rank_[table][rank];
  }
}

std::vector<int64_t> EmbeddingWorkload::batch_rows(int64_t number) const {
  std::vector<int64_t> rows(static_cast<size_t>(ids_in_batch()));
  const int64_t count = shape_.batch * shape_.ids_per_feature;
  for (int64_t table = 0; table < shape_.tables; ++table) {
    draw(table, kBatches + number, count, rows.data() + table * count);
  }
  return rows;
}

std::vector<int64_t> EmbeddingWorkload::rows_by_arrival(int64_t table) const {
  std::vector<int64_t> draws(static_cast<size_t>(shape_.rows));
  draw(table, kArrival, shape_.rows, draws.data());
  std::vector<int64_t> result;
  std::vector<bool> seen(static_cast<size_t>(shape_.rows));
  auto arrive = [&](int64_t row) {
    if (seen[row]) return;
    seen[row] = true;
    result.push_back(row);
  };
  for (const int64_t row : draws) arrive(row);
  for (int64_t row = 0; row < shape_.rows; ++row) arrive(row);
  return result;
}

std::vector<float> EmbeddingWorkload::gradient() const {
  std::vector<float> values(static_cast<size_t>(shape_.batch * shape_.tables * shape_.dim));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = static_cast<uint32_t>(random_bits(0, kGradient, static_cast<int64_t>(i)));
    values[i] = (uniform24(bits) - 0.5f) * 0.02f;
  }
  return values;
}

}  // namespace millrace
