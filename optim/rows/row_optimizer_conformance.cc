#include "optim/rows/row_optimizer_conformance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "optim/rows/row_optimizer_testing.h"

namespace millrace {
namespace {

constexpr double kRate = 0.05;
constexpr int64_t kDim = 19;
constexpr size_t kRows = 10;

// Rows in their initial state, and a gradient for each.
struct Example {
  explicit Example(const RowOptimizer& optimizer) {
    std::mt19937 random(5);
    const auto draw = [&] {
      std::vector<float> values(kDim);
      for (float& value : values) value = static_cast<float>(random() % 2001) / 1000 - 1;
      return values;
    };
    for (size_t i = 0; i < kRows; ++i) {
      rows.emplace_back(optimizer, draw());
      gradients.push_back(draw());
    }
  }

  // Makes two updates of rows [begin, end), each in one call.
  void update(const RowOptimizer& optimizer, size_t begin, size_t end,
              InstructionSet instruction_set = best_instruction_set()) {
    for (int64_t step = 1; step <= 2; ++step) {
      UpdateContext context;
      context.learning_rate = kRate;
      context.step = step;
      context.instruction_set = instruction_set;
      std::vector<RowUpdate> updates;
      for (size_t i = begin; i < end; ++i) {
        updates.push_back({rows[i].weights.data(), rows[i].slots.data(), gradients[i].data()});
      }
      optimizer.update(context, kDim, updates);
    }
  }

  std::vector<TestRow> rows;
  std::vector<std::vector<float>> gradients;
};

void expect_equal(const std::vector<TestRow>& a, const std::vector<TestRow>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].weights, b[i].weights) << "weights of row " << i;
    EXPECT_EQ(a[i].slots, b[i].slots) << "slots of row " << i;
  }
}

// Updates all rows in one call.
std::vector<TestRow> updated_together(const RowOptimizer& optimizer) {
  Example together(optimizer);
  together.update(optimizer, 0, kRows);
  return together.rows;
}

void check_name(const MakeRowOptimizer& make) {
  const std::string name(make()->name());
  EXPECT_FALSE(name.empty());
  EXPECT_EQ(make()->name(), name);
}

void check_slot_names(const MakeRowOptimizer& make) {
  std::set<std::string> names;
  for (const SlotSpec& spec : make()->slots(kDim)) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name << " comes twice";
    EXPECT_FALSE(spec.name.empty());
    EXPECT_GT(spec.size, 0) << spec.name;
    EXPECT_TRUE(std::isfinite(spec.initial)) << spec.name;
  }
}

void check_equal_slots(const MakeRowOptimizer& make) {
  const std::unique_ptr<RowOptimizer> optimizer = make();
  const std::vector<SlotSpec> slots = optimizer->slots(kDim);
  EXPECT_EQ(optimizer->slots(kDim), slots);
  updated_together(*optimizer);
  EXPECT_EQ(optimizer->slots(kDim), slots) << "an update changed the slots";
}

void check_cuts(const MakeRowOptimizer& make) {
  const std::unique_ptr<RowOptimizer> optimizer = make();
  for (const size_t size : {1, 3, 9}) {
    SCOPED_TRACE(testing::Message() << size << " rows in a call");
    Example cut(*optimizer);
    for (size_t begin = 0; begin < kRows; begin += size) {
      cut.update(*optimizer, begin, std::min(begin + size, kRows));
    }
    expect_equal(cut.rows, updated_together(*optimizer));
  }
  Example none(*optimizer);
  none.update(*optimizer, 0, 0);
  expect_equal(none.rows, Example(*optimizer).rows);
}

void check_scale(const MakeRowOptimizer& make) {
  const std::unique_ptr<RowOptimizer> optimizer = make();
  Example example(*optimizer);
  for (size_t i = 0; i < kRows; ++i) {
    TestRow plain = example.rows[i], scaled = example.rows[i];
    std::vector<float> quadrupled = example.gradients[i];
    for (float& value : quadrupled) value *= 4;
    plain.update(*optimizer, kRate, example.gradients[i]);
    scaled.update(*optimizer, kRate, quadrupled, 0.25);
    expect_equal({scaled}, {plain});
  }
}

void check_rate_zero(const MakeRowOptimizer& make) {
  const std::unique_ptr<RowOptimizer> optimizer = make();
  Example example(*optimizer);
  for (size_t i = 0; i < kRows; ++i) {
    TestRow& row = example.rows[i];
    row.update(*optimizer, kRate, example.gradients[i]);
    const std::vector<float> before = row.weights;
    row.update(*optimizer, 0, example.gradients[i]);
    EXPECT_EQ(row.weights, before);
  }
}

void check_finite(const MakeRowOptimizer& make) {
  const std::unique_ptr<RowOptimizer> optimizer = make();
  for (const float size : {0.0f, 1e-20f, 1.0f, 1e6f}) {
    TestRow row(*optimizer, std::vector<float>(kDim, 0.5f));
    for (int step = 0; step < 20; ++step) {
      row.update(*optimizer, kRate, std::vector<float>(kDim, step % 2 == 0 ? size : -size));
    }
    for (const float value : row.weights) EXPECT_TRUE(std::isfinite(value)) << "gradient " << size;
    for (const float value : row.slots) EXPECT_TRUE(std::isfinite(value)) << "gradient " << size;
  }
}

void check_instruction_sets(const MakeRowOptimizer& make) {
  const std::unique_ptr<RowOptimizer> optimizer = make();
  for (const InstructionSet set : kInstructionSets) {
    if (!has_instruction_set(set)) continue;
    SCOPED_TRACE(name_of(set));
    Example example(*optimizer);
    example.update(*optimizer, 0, kRows, set);
    expect_equal(example.rows, updated_together(*optimizer));
  }
}

void check_threads(const MakeRowOptimizer& make) {
  const std::unique_ptr<RowOptimizer> optimizer = make();
  const std::vector<TestRow> expected = updated_together(*optimizer);
  std::vector<Example> examples(4, Example(*optimizer));
  call_on_threads(examples, [&](auto& example) { example.update(*optimizer, 0, kRows); });
  for (const Example& example : examples) expect_equal(example.rows, expected);
}

}  // namespace

std::vector<Property> row_optimizer_properties(const MakeRowOptimizer& make) {
  const auto property = properties_of(make);
  return {
      property("HasAName", check_name),
      property("KeepsSlotNamesApart", check_slot_names),
      property("HasTheSameSlotsAtEveryCall", check_equal_slots),
      property("DoesNotDependOnCuts", check_cuts),
      property("ScaleActsLikeAScaledGradient", check_scale),
      property("RateZeroChangesNoWeight", check_rate_zero),
      property("StaysFinite", check_finite),
      property("DoesNotDependOnTheInstructionSet", check_instruction_sets),
      property("UpdatesOnSeveralThreads", check_threads),
  };
}

bool register_row_optimizer_conformance(const std::string& suite, const MakeRowOptimizer& make,
                                        std::source_location place) {
  return register_properties(suite, row_optimizer_properties(make), place);
}

}  // namespace millrace
