// Checks the conformance of rules as a job writes them, and that the suite detects a faulty rule.

#include "embedding/policies/eviction_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// Evicts ids that are no multiple of four and did not occur for 100 steps.
class IdleIds : public EvictionRule {
 public:
  bool evicts(const EvictionCandidate& row, int64_t step) const override {
    return row.id % 4 != 0 && row.last_step < step && step - row.last_step > 100;
  }
};

// Evicts rows without a weight above 0.1.
class SmallWeights : public EvictionRule {
 public:
  bool evicts(const EvictionCandidate& row, int64_t) const override {
    for (const float weight : row.weights) {
      if (weight > 0.1f) return false;
    }
    return true;
  }
  bool needs_weights() const override { return true; }
};

template <typename Rule>
EvictionConformance of() {
  return {.make = [](const EvictionInput&) { return std::make_unique<Rule>(); }};
}

[[maybe_unused]] const bool kIdleIds = register_eviction_conformance("IdleIds", of<IdleIds>());
[[maybe_unused]] const bool kSmallWeights =
    register_eviction_conformance("SmallWeights", of<SmallWeights>());

// Evicts infrequent rows, with an optional fault.
class FaultyRule : public EvictionRule {
 public:
  enum class Fault {
    kNone,
    kCountsQuestions,
    kDiffersBetweenThreads,
    kReadsWeights,
    kFailsBeforeTheLastStep,
  };
  explicit FaultyRule(Fault fault) : fault_(fault) {}

  bool evicts(const EvictionCandidate& row, int64_t step) const override {
    const bool infrequent = row.frequency < 5;
    switch (fault_) {
      case Fault::kNone: break;
      case Fault::kCountsQuestions: return ++questions_ % 3 == 0;
      case Fault::kDiffersBetweenThreads:
        return infrequent == (std::this_thread::get_id() == made_on_);
      case Fault::kReadsWeights: return infrequent || (!row.weights.empty() && row.weights[0] > 1);
      case Fault::kFailsBeforeTheLastStep:
        if (step < row.last_step) throw std::out_of_range("step");
    }
    return infrequent;
  }

 private:
  const Fault fault_;
  const std::thread::id made_on_ = std::this_thread::get_id();
  mutable std::atomic<int64_t> questions_ = 0;
};

std::vector<std::string> failing(FaultyRule::Fault fault) {
  return failing_properties(eviction_properties(
      {.make = [=](const EvictionInput&) { return std::make_unique<FaultyRule>(fault); }}));
}

TEST(EvictionConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultyRule::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kCountsQuestions),
              IsSupersetOf({"IsTheSameAtEveryCall", "IsTheSameOnSeveralThreads"}));
  EXPECT_THAT(failing(Fault::kDiffersBetweenThreads), ElementsAre("IsTheSameOnSeveralThreads"));
  EXPECT_THAT(failing(Fault::kReadsWeights), ElementsAre("ReadsWeightsOnlyIfItNeedsThem"));
  EXPECT_THAT(failing(Fault::kFailsBeforeTheLastStep), ElementsAre("TakesExtremeValues"));
}

}  // namespace
}  // namespace millrace
