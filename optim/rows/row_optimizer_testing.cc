#include "optim/rows/row_optimizer_testing.h"

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "base/status_matchers.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/step_plan.h"

namespace millrace {
namespace {

constexpr double kReferenceRate = 0.05;

std::vector<float> initial_slots(const RowOptimizer& optimizer, int64_t dim) {
  std::vector<float> slots;
  for (const SlotSpec& spec : optimizer.slots(dim)) {
    slots.insert(slots.end(), spec.size, spec.initial);
  }
  return slots;
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

struct ReferenceRow {
  std::vector<double> weights;
  std::vector<double> slots;
};

// A table and a map of rows in double, trained with the same gradients.
class Comparison {
 public:
  Comparison(const RowOptimizer& optimizer, const ReferenceUpdate& reference, int64_t dim)
      : optimizer_(optimizer), reference_(reference), dim_(dim), random_(dim) {
    EmbeddingTableOptions options;
    options.name = "t";
    options.dim = dim;
    options.initializer.mutable_normal()->set_stddev(0.5);
    table_ = *EmbeddingTable::create(options);
    EXPECT_OK(table_->bind(optimizer.slots(dim)));
    plan_ = std::make_unique<StepPlan>(*table_);
  }

  void step() {
    std::vector<int64_t> ids;
    for (int i = 0; i < 60; ++i) ids.push_back(static_cast<int64_t>(random_() % 40) - 20);
    std::vector<int64_t> offsets = {0, static_cast<int64_t>(ids.size())};
    IdLists lists;
    lists.ids = ids;
    lists.offsets = offsets;
    lists.pooling = NONE;
    std::vector<float> gradient(ids.size() * dim_);
    for (float& value : gradient) value = static_cast<float>(random_() % 20001) / 10000 - 1;
    std::vector<float> output(gradient.size());
    ASSERT_OK(plan_->look_up(lists, {output.data(), dim_}));
    plan_->set_gradient(0, gradient.data(), dim_);
    UpdateContext context;
    context.learning_rate = kReferenceRate;
    context.step = ++t_;
    plan_->apply(optimizer_, context, t_);
    step_reference(ids, gradient);
  }

  void expect_close() const {
    for (const auto& [id, row] : rows_) {
      RowIndex found;
      table_->find({&id, 1}, {&found, 1});
      ASSERT_NE(found, kNoRow);
      std::vector<double> difference = row.weights;
      for (int64_t c = 0; c < dim_; ++c)
        difference[c] -= table_->content().rows().weights(found)[c];
      EXPECT_LE(norm(difference), 1e-5 * norm(row.weights)) << "id " << id << ", dim " << dim_;
    }
  }

 private:
  void step_reference(const std::vector<int64_t>& ids, const std::vector<float>& gradient) {
    std::map<int64_t, std::vector<double>> sums;
    for (size_t i = 0; i < ids.size(); ++i) {
      std::vector<double>& sum = sums[ids[i]];
      sum.resize(dim_);
      for (int64_t c = 0; c < dim_; ++c) sum[c] += gradient[i * dim_ + c];
    }
    for (const auto& [id, sum] : sums) {
      auto [row, added] = rows_.try_emplace(id);
      if (added) {
        std::vector<float> initial(dim_), slots = initial_slots(optimizer_, dim_);
        table_->initial_row(id, absl::MakeSpan(initial));
        row->second.weights.assign(initial.begin(), initial.end());
        row->second.slots.assign(slots.begin(), slots.end());
      }
      reference_(row->second.weights, row->second.slots, sum, kReferenceRate, t_);
    }
  }

  const RowOptimizer& optimizer_;
  const ReferenceUpdate& reference_;
  const int64_t dim_;
  std::mt19937 random_;
  std::unique_ptr<EmbeddingTable> table_;
  std::unique_ptr<StepPlan> plan_;
  std::map<int64_t, ReferenceRow> rows_;
  int64_t t_ = 0;
};

}  // namespace

TestRow::TestRow(const RowOptimizer& optimizer, std::vector<float> initial)
    : weights(std::move(initial)), slots(initial_slots(optimizer, weights.size())) {}

void TestRow::update(const RowOptimizer& optimizer, double learning_rate,
                     std::vector<float> gradient, double gradient_scale) {
  UpdateContext context;
  context.learning_rate = learning_rate;
  context.step = ++step;
  context.gradient_scale = gradient_scale;
  const RowUpdate row{weights.data(), slots.data(), gradient.data()};
  optimizer.update(context, weights.size(), {&row, 1});
}

void expect_agrees_with_reference(const RowOptimizer& optimizer, const ReferenceUpdate& reference) {
  for (const int64_t dim : {3, 16, 33}) {
    Comparison comparison(optimizer, reference, dim);
    for (int step = 0; step < 100; ++step) comparison.step();
    comparison.expect_close();
  }
}

void expect_trains_to(const RowOptimizer& optimizer, const std::vector<double>& expected) {
  ASSERT_EQ(expected.size(), 12);
  std::vector<float> weights;
  for (int r = 0; r < 3; ++r) {
    std::vector<float> initial;
    for (int c = 0; c < 4; ++c) initial.push_back(static_cast<float>((5 * r + 3 * c) % 7 - 3) / 10);
    TestRow row(optimizer, initial);
    for (int t = 1; t <= 6; ++t) {
      if (t <= r || (t - r - 1) % (r + 1) != 0) continue;
      std::vector<float> gradient;
      for (int c = 0; c < 4; ++c) {
        gradient.push_back(static_cast<float>((7 * t + 3 * r + 5 * c) % 11 - 5) / 4);
      }
      row.step = t - 1;
      row.update(optimizer, 0.05, gradient);
    }
    weights.insert(weights.end(), row.weights.begin(), row.weights.end());
  }
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(weights[i], expected[i], 1e-6) << i;
}

}  // namespace millrace
