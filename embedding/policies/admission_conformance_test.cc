// Checks the conformance of each kind of AdmissionConfig, and that the suite detects a faulty
// admission.

#include "embedding/policies/admission_conformance.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

AdmissionConformance of(const char* text, bool exact = true) {
  return {.make =
              [text](const AdmissionInput& input) {
                AdmissionConfig config;
                EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
                absl::StatusOr<std::unique_ptr<Admission>> admission =
                    Admission::create(config, input.seed, input.table);
                EXPECT_OK(admission);
                return *std::move(admission);
              },
          .exact = exact};
}

[[maybe_unused]] const bool kAlways = register_admission_conformance("Always", of("always {}"));
[[maybe_unused]] const bool kReadOnly =
    register_admission_conformance("ReadOnly", of("read_only {}"));
[[maybe_unused]] const bool kCount =
    register_admission_conformance("Count", of("count { min_count: 7 }"));
[[maybe_unused]] const bool kCountOfOne =
    register_admission_conformance("CountOfOne", of("count { min_count: 1 }"));
[[maybe_unused]] const bool kSketch = register_admission_conformance(
    "CountWithSketch", of("count { min_count: 7 sketch { capacity: 1000 } }", /*exact=*/false));
[[maybe_unused]] const bool kProbability =
    register_admission_conformance("Probability", of("probability { probability: 0.3 }"));

// Admits ids that occurred four times, with an optional fault.
class FaultyAdmission : public Admission {
 public:
  enum class Fault {
    kNone,
    kCountsQuestions,
    kDiffersBetweenThreads,
    kIgnoresUnsortedIds,
    kIgnoresSingleIds,
    kForgetsNothing,
    kClearsNothing,
    kSharesItsCounts,
    kUnsortedState,
    kAddsToItsState,
    kTakesForeignState,
    kTakesDamagedState,
    kChangesBeforeItRefuses,
    kClaimsToAdmitAll,
    kDependsOnOtherIds,
  };
  explicit FaultyAdmission(Fault fault) : fault_(fault) {}
  FaultyAdmission(const FaultyAdmission& other)
      : fault_(other.fault_),
        counts_(fault_ == Fault::kSharesItsCounts ? other.counts_
                                                  : std::make_shared<Counts>(*other.counts_)) {}

  bool admits_all() const override { return fault_ == Fault::kClaimsToAdmitAll; }
  bool admits(int64_t id, int64_t) const override {
    const auto found = counts_->find(placement_hash(id));
    const bool admitted = found != counts_->end() && found->second >= 4;
    if (fault_ == Fault::kCountsQuestions) return ++questions_ % 5 == 0;
    if (fault_ == Fault::kDiffersBetweenThreads) {
      return admitted == (std::this_thread::get_id() == made_on_);
    }
    return admitted;
  }
  void count(absl::Span<const int64_t> ids, absl::Span<const uint32_t> counts) override {
    if (fault_ == Fault::kIgnoresUnsortedIds && !std::is_sorted(ids.begin(), ids.end())) return;
    if (fault_ == Fault::kIgnoresSingleIds && ids.size() == 1) return;
    const uint32_t more = fault_ == Fault::kDependsOnOtherIds && ids.size() > 20 ? 1 : 0;
    for (size_t i = 0; i < ids.size(); ++i) (*counts_)[placement_hash(ids[i])] += counts[i] + more;
  }
  void forget(absl::Span<const int64_t> ids) override {
    if (fault_ == Fault::kForgetsNothing) return;
    for (const int64_t id : ids) counts_->erase(placement_hash(id));
  }
  void clear() override {
    if (fault_ != Fault::kClearsNothing) counts_->clear();
  }
  int64_t candidates() const override { return static_cast<int64_t>(counts_->size()); }
  std::unique_ptr<Admission> clone() const override {
    return std::make_unique<FaultyAdmission>(*this);
  }

  AdmissionState state() const override {
    AdmissionState state;
    for (const auto& [hash, count] : *counts_) {
      state.ids.push_back(inverse_placement_hash(hash));
      state.counts.push_back(count);
    }
    if (fault_ == Fault::kUnsortedState) {
      std::reverse(state.ids.begin(), state.ids.end());
      std::reverse(state.counts.begin(), state.counts.end());
    }
    return state;
  }
  absl::Status set_state(const AdmissionState& state) override {
    if (!state.sketch.counters.empty() && fault_ != Fault::kTakesForeignState) {
      return absl::InvalidArgumentError("another kind");
    }
    if (fault_ == Fault::kChangesBeforeItRefuses) counts_->clear();
    Counts counts;
    if (fault_ == Fault::kAddsToItsState) counts = *counts_;
    bool damaged = state.ids.size() != state.counts.size();
    for (size_t i = 0; i < std::min(state.ids.size(), state.counts.size()); ++i) {
      uint32_t& count = counts[placement_hash(state.ids[i])];
      damaged |= (count > 0 && fault_ != Fault::kAddsToItsState) || state.counts[i] == 0;
      count += state.counts[i];
    }
    if (damaged && fault_ != Fault::kTakesDamagedState) {
      return absl::InvalidArgumentError("damaged");
    }
    *counts_ = std::move(counts);
    return absl::OkStatus();
  }

 private:
  using Counts = std::map<uint64_t, uint32_t>;  // by placement_hash

  const Fault fault_;
  // Shared with clones by one of the faults.
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  const std::thread::id made_on_ = std::this_thread::get_id();
  mutable std::atomic<int64_t> questions_ = 0;
};

std::vector<std::string> failing(FaultyAdmission::Fault fault) {
  return failing_properties(admission_properties(
      {.make = [=](const AdmissionInput&) { return std::make_unique<FaultyAdmission>(fault); }}));
}

TEST(AdmissionConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultyAdmission::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kCountsQuestions),
              IsSupersetOf({"IsTheSameAtEveryCall", "IsTheSameOnSeveralThreads"}));
  EXPECT_THAT(failing(Fault::kDiffersBetweenThreads), ElementsAre("IsTheSameOnSeveralThreads"));
  EXPECT_THAT(failing(Fault::kIgnoresUnsortedIds), ElementsAre("IgnoresTheOrderOfIds"));
  EXPECT_THAT(failing(Fault::kIgnoresSingleIds), ElementsAre("IgnoresTheNumberOfCalls"));
  EXPECT_THAT(failing(Fault::kForgetsNothing), ElementsAre("ForgetsIds"));
  EXPECT_THAT(failing(Fault::kClearsNothing), ElementsAre("ClearsAllCounts"));
  EXPECT_THAT(failing(Fault::kSharesItsCounts), ElementsAre("ClonesAreIndependent"));
  EXPECT_THAT(failing(Fault::kUnsortedState), ElementsAre("StateHasItsForm"));
  EXPECT_THAT(failing(Fault::kAddsToItsState), IsSupersetOf({"ContinuesFromItsState"}));
  EXPECT_THAT(failing(Fault::kTakesForeignState), ElementsAre("RefusesForeignState"));
  EXPECT_THAT(failing(Fault::kTakesDamagedState), ElementsAre("RefusesDamagedState"));
  EXPECT_THAT(failing(Fault::kChangesBeforeItRefuses), ElementsAre("RefusesDamagedState"));
  EXPECT_THAT(failing(Fault::kClaimsToAdmitAll), ElementsAre("AdmitsAllImpliesAdmits"));
  EXPECT_THAT(failing(Fault::kDependsOnOtherIds), IsSupersetOf({"JoinsStatesOfRanks"}));
}

TEST(AdmissionConformanceTest, EstimatesMustBeSaidToBe) {
  const std::vector<std::string> failing =
      failing_properties(admission_properties(of("count { min_count: 7 sketch {} }")));
  EXPECT_THAT(failing, testing::Contains("ForgetsIds"));
}

}  // namespace
}  // namespace millrace
