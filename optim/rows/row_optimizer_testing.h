// Helpers for tests of row optimizers.
#ifndef MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_TESTING_H_
#define MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_TESTING_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "embedding/rows/row_optimizer.h"

namespace millrace {

// One row that is updated alone.
struct TestRow {
  std::vector<float> weights;
  std::vector<float> slots;
  int64_t step = 0;

  // Creates a row with the optimizer's initial slots.
  TestRow(const RowOptimizer& optimizer, std::vector<float> initial);
  // Makes the next step.
  void update(const RowOptimizer& optimizer, double learning_rate, std::vector<float> gradient,
              double gradient_scale = 1);
};

// One update in double precision of the weights and the slots, which are concatenated; t counts
// from 1.
using ReferenceUpdate =
    std::function<void(std::vector<double>& weights, std::vector<double>& slots,
                       const std::vector<double>& gradient, double learning_rate, int64_t t)>;

// Trains a table of 40 ids for 100 random steps with repeated ids, through a step plan, and expects
// that every row is within 1e-5 of its norm of the row that a plain loop over `reference` gives,
// for several widths.
void expect_agrees_with_reference(const RowOptimizer& optimizer, const ReferenceUpdate& reference);

// Trains three rows of four columns for six steps at rate 0.05 and expects these weights, row after
// row, within 1e-6. The inputs are given by formulas, so that another implementation of the
// optimizer can provide `expected`. With rows r and columns c from 0 and steps t from 1: weights
// begin at ((5r + 3c) mod 7 − 3) / 10. Row r is touched if t > r and (t − r − 1) mod (r + 1) is 0;
// its gradient is ((7t + 3r + 5c) mod 11 − 5) / 4.
void expect_trains_to(const RowOptimizer& optimizer, const std::vector<double>& expected);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_TESTING_H_
