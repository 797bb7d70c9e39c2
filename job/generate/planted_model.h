// Examples drawn from a known model.
#ifndef MILLRACE_JOB_GENERATE_PLANTED_MODEL_H_
#define MILLRACE_JOB_GENERATE_PLANTED_MODEL_H_

#include <array>
#include <cstdint>
#include <optional>

namespace millrace {

inline constexpr int kDenseColumns = 13;   // i1 ... i13
inline constexpr int kSparseColumns = 26;  // c1 ... c26

struct PlantedExample {
  double label = 0;        // 0 or 1
  double probability = 0;  // probability of label 1, the prediction of a perfect model
  std::array<std::optional<double>, kDenseColumns> dense;     // counts
  std::array<std::optional<int64_t>, kSparseColumns> sparse;  // ids over all 64 bits
};

// Options of the examples.
struct PlantedModelOptions {
  uint64_t seed = 1;
  // Expected share of positive labels. In (0, 1).
  double positive_rate = 0.25;
  // Exponent of the distribution of ids: the id of rank k has a share near k^-exponent. At least 0.
  double zipf_exponent = 1.1;
};

// A logistic model over columns shaped like the columns of the Criteo display advertising data:
//
//   logit = bias + sum over dense columns of w_d (ln(1 + x) - mean) / stddev
//                + sum over sparse columns of e_c(id) + sum over pairs (a, b) of u_a(id_a)
//                u_b(id_b)
//
// Effects e and u are normal numbers, determined by (seed, column, rank of the id). They are
// largest in columns with few ids and absent in columns with many, so that 200,000 examples are
// enough to learn them. A missing count has the effect of 0 and a missing id none. An example is a
// pure function of (options, part, row): any thread may draw any example, in any order.
class PlantedModel {
 public:
  // Parts are independent samples of one distribution.
  enum class Part : uint32_t { kTrain = 0, kEvaluate = 1, kCalibrate = 2 };

  // Solves for the bias, from 20,000 examples of kCalibrate.
  // REQUIRES: options within their ranges.
  explicit PlantedModel(const PlantedModelOptions& options);

  PlantedExample example(Part part, int64_t row) const;

  // Number of distinct ids of a sparse column; columns count from 0.
  static int64_t cardinality(int column);

 private:
  int64_t rank_of(int column, double uniform) const;
  int64_t id_of(int column, int64_t rank) const;
  double effect_of(int kind, int column, int64_t rank) const;
  // Draws the columns. Returns: the logit without the bias.
  double draw(Part part, int64_t row, PlantedExample* example) const;
  void solve_bias();

  const PlantedModelOptions options_;
  double bias_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_JOB_GENERATE_PLANTED_MODEL_H_
