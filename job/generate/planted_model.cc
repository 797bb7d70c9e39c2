#include "job/generate/planted_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/hash.h"
#include "base/random/philox.h"

namespace millrace {
namespace {

struct DenseColumn {
  double mean, stddev;  // of ln(1 + x)
  double weight;        // weight of its standardised value in the logit
  double missing;       // share of empty lists
};

constexpr DenseColumn kDense[kDenseColumns] = {
    {1.5, 1.4, 0.50, 0.20},  {3.0, 2.0, 0.00, 0.10}, {2.0, 1.3, -0.40, 0.23},
    {1.8, 1.0, 0.00, 0.25},  {2.5, 2.2, 0.35, 0.05}, {2.5, 1.6, 0.00, 0.20},
    {1.5, 1.3, 0.40, 0.04},  {2.0, 1.2, 0.00, 0.00}, {3.0, 1.5, -0.35, 0.04},
    {0.5, 0.5, 0.00, 0.40},  {1.0, 0.8, 0.35, 0.04}, {0.3, 0.6, 0.00, 0.70},
    {1.8, 1.1, -0.45, 0.23},
};

struct SparseColumn {
  int64_t cardinality;
  double effect;   // standard deviation of its ids' effects
  double missing;  // share of empty lists
};

constexpr SparseColumn kSparse[kSparseColumns] = {
    {1400, 0.05, 0.00}, {560, 0.10, 0.00},  {100000, 0, 0.04},  {60000, 0, 0.04},
    {300, 0.10, 0.00},  {24, 0.25, 0.12},   {12000, 0, 0.00},   {600, 0.10, 0.00},
    {10, 0.25, 0.00},   {40000, 0, 0.00},   {5000, 0.02, 0.00}, {90000, 0, 0.04},
    {3000, 0.02, 0.00}, {27, 0.25, 0.00},   {14000, 0, 0.00},   {80000, 0, 0.04},
    {10, 0.25, 0.00},   {5000, 0.02, 0.00}, {2000, 0.05, 0.44}, {12, 0.25, 0.44},
    {90000, 0, 0.04},   {18, 0.25, 0.76},   {15, 0.25, 0.00},   {50000, 0, 0.04},
    {100, 0.20, 0.44},  {30000, 0, 0.44},
};

// Columns (from 0) whose ids interact; the product of their effects has this standard deviation.
struct Pair {
  int a, b;
  double strength;
};
constexpr Pair kPairs[] = {{8, 16, 0.15}, {13, 22, 0.15}, {5, 8, 0.15}};

// Streams of random numbers. Streams of rows: part << 16 | one of these plus the column.
constexpr uint64_t kDenseStream = 0, kSparseStream = 100, kLabelStream = 200;
// Streams of effects: kEffectStream | kind << 16 | column, indexed by rank.
constexpr uint64_t kEffectStream = uint64_t{1} << 40;
constexpr int kFirstOrder = 0, kSecondOrder = 1, kIds = 2;

constexpr int kCalibrationRows = 20000;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Returns a number in (0, 1).
double open_uniform(uint32_t bits) { return (bits + 0.5) * 0x1p-32; }

}  // namespace

PlantedModel::PlantedModel(const PlantedModelOptions& options) : options_(options) { solve_bias(); }

int64_t PlantedModel::cardinality(int column) { return kSparse[column].cardinality; }

// Returns the integer part of a number in [1, n + 1) whose density falls as x^-exponent.
int64_t PlantedModel::rank_of(int column, double uniform) const {
  const double end = static_cast<double>(cardinality(column)) + 1;
  const double power = 1 - options_.zipf_exponent;
  const double x = std::abs(power) < 1e-9
                       ? std::pow(end, uniform)
                       : std::pow(1 + uniform * (std::pow(end, power) - 1), 1 / power);
  return std::clamp<int64_t>(static_cast<int64_t>(x), 1, cardinality(column));
}

// Maps ranks to ids by a bijection per column.
int64_t PlantedModel::id_of(int column, int64_t rank) const {
  const uint64_t key = philox64(options_.seed, kEffectStream | kIds << 16 | column, 0);
  return static_cast<int64_t>(placement_hash(static_cast<int64_t>(key ^ rank)));
}

double PlantedModel::effect_of(int kind, int column, int64_t rank) const {
  const uint64_t stream = kEffectStream | static_cast<uint64_t>(kind) << 16 | column;
  return normal_quantile(philox(options_.seed, stream, rank)[0]);
}

double PlantedModel::draw(Part part, int64_t row, PlantedExample* example) const {
  const uint64_t streams = static_cast<uint64_t>(part) << 16;
  double logit = 0;
  for (int i = 0; i < kDenseColumns; ++i) {
    const DenseColumn& column = kDense[i];
    const PhiloxBlock bits = philox(options_.seed, streams | (kDenseStream + i), row);
    double x = 0;
    if (open_uniform(bits[0]) >= column.missing) {
      x = std::floor(std::exp(column.mean + column.stddev * normal_quantile(bits[1])));
      example->dense[i] = x;
    }
    logit += column.weight * (std::log1p(x) - column.mean) / column.stddev;
  }
  std::array<int64_t, kSparseColumns> ranks;  // 0: missing
  for (int i = 0; i < kSparseColumns; ++i) {
    const SparseColumn& column = kSparse[i];
    const PhiloxBlock bits = philox(options_.seed, streams | (kSparseStream + i), row);
    ranks[i] = 0;
    if (open_uniform(bits[0]) < column.missing) continue;
    ranks[i] = rank_of(i, open_uniform(bits[1]));
    example->sparse[i] = id_of(i, ranks[i]);
    if (column.effect > 0) logit += column.effect * effect_of(kFirstOrder, i, ranks[i]);
  }
  for (const Pair& pair : kPairs) {
    if (ranks[pair.a] == 0 || ranks[pair.b] == 0) continue;
    logit += pair.strength * effect_of(kSecondOrder, pair.a, ranks[pair.a]) *
             effect_of(kSecondOrder, pair.b, ranks[pair.b]);
  }
  return logit;
}

PlantedExample PlantedModel::example(Part part, int64_t row) const {
  PlantedExample example;
  example.probability = sigmoid(bias_ + draw(part, row, &example));
  const uint64_t stream = static_cast<uint64_t>(part) << 16 | kLabelStream;
  const double uniform = open_uniform(philox(options_.seed, stream, row)[0]);
  example.label = uniform < example.probability ? 1 : 0;
  return example;
}

void PlantedModel::solve_bias() {
  std::vector<double> logits;
  for (int row = 0; row < kCalibrationRows; ++row) {
    PlantedExample example;
    logits.push_back(draw(Part::kCalibrate, row, &example));
  }
  // Bisection, since the mean probability grows with the bias.
  double low = -50, high = 50;
  for (int i = 0; i < 50; ++i) {
    bias_ = (low + high) / 2;
    double sum = 0;
    for (const double logit : logits) sum += sigmoid(bias_ + logit);
    (sum < options_.positive_rate * kCalibrationRows ? low : high) = bias_;
  }
}

}  // namespace millrace
