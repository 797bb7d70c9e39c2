#include <google/protobuf/text_format.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/status_matchers.h"
#include "optim/rows/row_optimizer_registry.h"

namespace millrace {
namespace {

// Rows with slots and gradients, of sizes from 2^-30 to 2^9.
struct Rows {
  int64_t dim;
  int64_t slot_floats = 0;
  std::vector<float> weights, slots, gradients;

  Rows(const RowOptimizer& optimizer, int64_t dim, int64_t count, uint32_t seed) : dim(dim) {
    for (const SlotSpec& spec : optimizer.slots(dim)) slot_floats += spec.size;
    std::mt19937 random(seed);
    auto draw = [&random] {
      const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
      return sign * std::ldexp(1 + static_cast<float>(random() % 0x800000) * 0x1p-23f,
                               static_cast<int>(random() % 40) - 30);
    };
    for (int64_t i = 0; i < count * dim; ++i) {
      weights.push_back(draw());
      gradients.push_back(random() % 8 == 0 ? 0.0f : draw());
    }
    for (int64_t i = 0; i < count; ++i) {
      for (const SlotSpec& spec : optimizer.slots(dim))
        slots.insert(slots.end(), spec.size, spec.initial);
    }
  }

  // `together`: the number of rows per call.
  void update(const RowOptimizer& optimizer, UpdateContext context, size_t together = 1000) {
    std::vector<RowUpdate> updates;
    for (size_t r = 0; r * dim < weights.size(); ++r) {
      updates.push_back(
          {weights.data() + r * dim, slots.data() + r * slot_floats, gradients.data() + r * dim});
    }
    for (size_t r = 0; r < updates.size(); r += together) {
      optimizer.update(context, dim, absl::MakeSpan(updates).subspan(r, together));
    }
  }
};

bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return a.empty() && b.empty();
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class RowKernelsTest : public testing::TestWithParam<SparseOptimizerConfig> {};

TEST_P(RowKernelsTest, EqualToTheLastBitOnEveryInstructionSet) {
  const std::unique_ptr<RowOptimizer> optimizer = *create_row_optimizer(GetParam());
  for (int64_t dim = 1; dim <= 130; ++dim) {
    const Rows initial(*optimizer, dim, 6, dim);
    std::vector<Rows> results;
    for (const InstructionSet set : kInstructionSets) {
      if (!has_instruction_set(set)) continue;
      Rows rows = initial;
      UpdateContext context;
      context.instruction_set = set;
      context.learning_rate = 0.0123;
      context.gradient_scale = 0.7;
      for (context.step = 1; context.step <= 5; ++context.step) {
        if (context.step == 4) std::swap(rows.gradients.front(), rows.gradients.back());
        rows.update(*optimizer, context);
      }
      EXPECT_FALSE(same_bytes(rows.weights, initial.weights));
      results.push_back(std::move(rows));
      EXPECT_TRUE(same_bytes(results.back().weights, results[0].weights))
          << "dim " << dim << ", " << name_of(set);
      EXPECT_TRUE(same_bytes(results.back().slots, results[0].slots))
          << "dim " << dim << ", " << name_of(set);
    }
  }
}

TEST_P(RowKernelsTest, RowsOfACallAreIndependent) {
  const std::unique_ptr<RowOptimizer> optimizer = *create_row_optimizer(GetParam());
  for (const int64_t dim : {5, 64, 100}) {
    Rows together(*optimizer, dim, 53, 1);
    Rows alone = together;
    for (const InstructionSet set : kInstructionSets) {
      if (!has_instruction_set(set)) continue;
      UpdateContext context;
      context.instruction_set = set;
      context.learning_rate = 0.0123;
      for (context.step = 1; context.step <= 2; ++context.step) {
        together.update(*optimizer, context);
        alone.update(*optimizer, context, 1);
      }
      EXPECT_TRUE(same_bytes(together.weights, alone.weights)) << dim << ", " << name_of(set);
      EXPECT_TRUE(same_bytes(together.slots, alone.slots)) << dim << ", " << name_of(set);
    }
  }
}

SparseOptimizerConfig config(const char* text) {
  SparseOptimizerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

INSTANTIATE_TEST_SUITE_P(
    All, RowKernelsTest,
    testing::Values(config("sgd {}"), config("sgd { weight_decay: 0.03 }"), config("adagrad {}"),
                    config("adagrad { weight_decay: 0.03 }"), config("rowwise_adagrad {}"),
                    config("rowwise_adagrad { weight_decay: 0.03 }"), config("adam {}"),
                    config("adam { weight_decay: 0.03 step_count: ROW }"),
                    config("adamw { weight_decay: 0.03 }"), config("ftrl {}"),
                    config("ftrl { l1: 0.1 l2: 0.2 }")),
    [](const testing::TestParamInfo<SparseOptimizerConfig>& info) {
      return std::to_string(info.index);
    });

}  // namespace
}  // namespace millrace
