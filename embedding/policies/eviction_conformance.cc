#include "embedding/policies/eviction_conformance.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/random/philox.h"

namespace millrace {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr size_t kDim = 8;

// The arguments of one call of evicts().
struct Question {
  int64_t id = 0;
  int64_t frequency = 0;
  int64_t last_step = 0;
  int64_t step = 0;
  std::vector<float> weights = {};
};

std::vector<float> weights_of(uint64_t row) {
  std::vector<float> weights(kDim);
  for (size_t i = 0; i < kDim; ++i) {
    weights[i] = uniform24(philox(1, row, i)[0]) - 0.5f;
    // Includes rows of zeros, and nearly zero rows.
    if (row % 4 == 0) weights[i] = 0;
    if (row % 4 == 1) weights[i] *= 1e-20f;
  }
  return weights;
}

// Returns questions within the range of tables.
std::vector<Question> test_questions() {
  std::vector<Question> questions;
  for (int64_t i = 0; i < 400; ++i) {
    const auto random = [i](uint64_t key, uint64_t end) {
      return static_cast<int64_t>(philox64(key, static_cast<uint64_t>(i), 0) % end);
    };
    const int64_t step = 1 + random(1, 100'000);
    questions.push_back({.id = i % 2 == 0 ? i : static_cast<int64_t>(philox64(2, i, 0)),
                         .frequency = random(3, i % 3 == 0 ? 100'000 : 10),
                         .last_step = step - random(4, static_cast<uint64_t>(step)),
                         .step = step,
                         .weights = weights_of(static_cast<uint64_t>(i))});
  }
  return questions;
}

// Returns questions at the limits of all ranges, including last steps after the current one.
std::vector<Question> extreme_questions() {
  std::vector<Question> questions;
  for (const int64_t id : {int64_t{0}, int64_t{-1}, kMin, kMax}) {
    for (const int64_t frequency : {int64_t{0}, int64_t{1}, kMax}) {
      for (const int64_t last_step : {int64_t{0}, int64_t{1}, kMax}) {
        for (const int64_t step : {int64_t{0}, int64_t{1}, kMax}) {
          const float huge = std::numeric_limits<float>::max();
          questions.push_back({id, frequency, last_step, step, std::vector<float>(kDim, huge)});
        }
      }
    }
  }
  return questions;
}

std::unique_ptr<EvictionRule> make_eviction(const EvictionConformance& c) {
  return c.make({.table = "items"});
}

bool ask(const EvictionRule& rule, const Question& question, absl::Span<const float> weights) {
  return rule.evicts({.id = question.id,
                      .frequency = question.frequency,
                      .last_step = question.last_step,
                      .weights = weights},
                     question.step);
}

// Calls evicts(), with weights only if the rule needs them.
bool ask(const EvictionRule& rule, const Question& question) {
  if (!rule.needs_weights()) return ask(rule, question, {});
  return ask(rule, question, question.weights);
}

std::vector<bool> eviction_answers(const EvictionRule& rule,
                                   const std::vector<Question>& questions) {
  std::vector<bool> answers;
  for (const Question& question : questions) answers.push_back(ask(rule, question));
  return answers;
}

std::string text_of(const Question& question) {
  return absl::StrCat("id ", question.id, ", frequency ", question.frequency, ", last step ",
                      question.last_step, ", step ", question.step);
}

void check_every_eviction(const EvictionConformance& c) {
  const auto rule = make_eviction(c);
  const std::vector<Question> questions = test_questions();
  const std::vector<bool> answers = eviction_answers(*rule, questions);
  EXPECT_EQ(eviction_answers(*rule, questions), answers) << "a second time";
  EXPECT_EQ(eviction_answers(*make_eviction(c), questions), answers) << "a second instance";
  for (size_t i = questions.size(); i-- > 0;) {
    EXPECT_EQ(ask(*rule, questions[i]), answers[i])
        << "in another order: " << text_of(questions[i]);
  }
}

void check_eviction_threads(const EvictionConformance& c) {
  const auto rule = make_eviction(c);
  const std::vector<Question> questions = test_questions();
  std::vector<std::vector<bool>> answers(4);
  call_on_threads(answers, [&](auto& each) { each = eviction_answers(*rule, questions); });
  const std::vector<bool> expected = eviction_answers(*make_eviction(c), questions);
  for (const std::vector<bool>& each : answers) EXPECT_EQ(each, expected);
}

void check_weights(const EvictionConformance& c) {
  const auto rule = make_eviction(c);
  const bool needs_weights = rule->needs_weights();
  EXPECT_EQ(rule->needs_weights(), needs_weights) << "a second time";
  EXPECT_EQ(make_eviction(c)->needs_weights(), needs_weights) << "a second instance";
  const std::vector<float> other(kDim, 7);
  for (const Question& question : test_questions()) {
    const bool answer = ask(*rule, question);
    if (needs_weights) {
      const std::vector<float> copy = question.weights;
      EXPECT_EQ(ask(*rule, question, copy), answer) << "equal weights: " << text_of(question);
      continue;
    }
    EXPECT_EQ(ask(*rule, question, question.weights), answer) << text_of(question);
    EXPECT_EQ(ask(*rule, question, other), answer) << "other weights: " << text_of(question);
    // Without weights, but at different memory.
    EXPECT_EQ(ask(*rule, question, {other.data(), 0}), answer) << text_of(question);
    EXPECT_EQ(ask(*rule, question, {question.weights.data(), 0}), answer) << text_of(question);
  }
}

void check_extremes(const EvictionConformance& c) {
  const std::vector<Question> questions = extreme_questions();
  const std::vector<bool> answers = eviction_answers(*make_eviction(c), questions);
  EXPECT_EQ(eviction_answers(*make_eviction(c), questions), answers);
}

}  // namespace

std::vector<Property> eviction_properties(const EvictionConformance& conformance) {
  const auto property = properties_of(conformance);
  return {
      property("IsTheSameAtEveryCall", check_every_eviction),
      property("IsTheSameOnSeveralThreads", check_eviction_threads),
      property("ReadsWeightsOnlyIfItNeedsThem", check_weights),
      property("TakesExtremeValues", check_extremes),
  };
}

bool register_eviction_conformance(const std::string& suite, const EvictionConformance& conformance,
                                   std::source_location place) {
  return register_properties(suite, eviction_properties(conformance), place);
}

}  // namespace millrace
