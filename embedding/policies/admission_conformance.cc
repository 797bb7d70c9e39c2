#include "embedding/policies/admission_conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/hash.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

// The arguments of one call of count().
struct Counts {
  std::vector<int64_t> ids;  // ascending
  std::vector<uint32_t> counts;
};

// Returns typical ids: small, hashed, negative, and the limits of the range. Ascending.
std::vector<int64_t> test_ids() {
  std::vector<int64_t> ids = {0, -1, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()};
  for (int64_t i = 1; i <= 30; ++i) {
    ids.push_back(i);
    ids.push_back(static_cast<int64_t>(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

// Returns the counts of steps in which about half of the ids with `is_counted` occur.
template <typename IsCounted>
std::vector<Counts> steps_of(uint64_t key, const IsCounted& is_counted) {
  std::vector<Counts> steps(6);
  for (size_t step = 0; step < steps.size(); ++step) {
    for (const int64_t id : test_ids()) {
      const uint64_t random = philox64(key, static_cast<uint64_t>(id), step);
      if (random % 2 == 0 || !is_counted(id)) continue;
      steps[step].ids.push_back(id);
      steps[step].counts.push_back(1 + static_cast<uint32_t>(random / 2 % 3));
    }
  }
  return steps;
}

std::vector<Counts> steps_of(uint64_t key) {
  return steps_of(key, [](int64_t) { return true; });
}

void count(const std::vector<Counts>& steps, Admission* admission) {
  for (const Counts& step : steps) admission->count(step.ids, step.counts);
}

std::unique_ptr<Admission> make_admission(const AdmissionConformance& c) {
  return c.make({.table = "items", .seed = 1});
}

std::unique_ptr<Admission> make_counted(const AdmissionConformance& c,
                                        const std::vector<Counts>& steps) {
  std::unique_ptr<Admission> admission = make_admission(c);
  count(steps, admission.get());
  return admission;
}

// Returns the answers for all ids after several numbers of steps.
std::vector<bool> admission_answers(const Admission& admission) {
  std::vector<bool> answers;
  for (const int64_t steps : {int64_t{0}, int64_t{1}, int64_t{6}, int64_t{1} << 40}) {
    for (const int64_t id : test_ids()) answers.push_back(admission.admits(id, steps));
  }
  return answers;
}

// Expects equal states and answers.
void expect_equal(const Admission& admission, const Admission& expected, const char* what) {
  EXPECT_EQ(admission.state(), expected.state()) << what;
  EXPECT_EQ(admission.candidates(), expected.candidates()) << what;
  EXPECT_EQ(admission_answers(admission), admission_answers(expected)) << what;
}

void check_every_admission(const AdmissionConformance& c) {
  const auto admission = make_counted(c, steps_of(1));
  const std::vector<bool> answers = admission_answers(*admission);
  EXPECT_EQ(admission_answers(*admission), answers) << "a second time";
  EXPECT_EQ(admission_answers(*make_counted(c, steps_of(1))), answers) << "a second instance";
  const std::vector<int64_t> ids = test_ids();
  for (size_t i = ids.size(); i-- > 0;) {
    EXPECT_EQ(admission->admits(ids[i], 0), answers[i]) << "in another order, id " << ids[i];
  }
}

void check_admission_threads(const AdmissionConformance& c) {
  const auto admission = make_counted(c, steps_of(1));
  std::vector<std::vector<bool>> answers(4);
  call_on_threads(answers, [&](auto& each) { each = admission_answers(*admission); });
  const std::vector<bool> expected = admission_answers(*make_counted(c, steps_of(1)));
  for (const std::vector<bool>& each : answers) EXPECT_EQ(each, expected);
}

void check_order(const AdmissionConformance& c) {
  std::vector<Counts> reversed = steps_of(1);
  for (Counts& step : reversed) {
    std::reverse(step.ids.begin(), step.ids.end());
    std::reverse(step.counts.begin(), step.counts.end());
  }
  expect_equal(*make_counted(c, reversed), *make_counted(c, steps_of(1)), "ids in reverse");
}

void check_calls(const AdmissionConformance& c) {
  std::vector<Counts> single;
  for (const Counts& step : steps_of(1)) {
    for (size_t i = 0; i < step.ids.size(); ++i) {
      single.push_back({{step.ids[i]}, {step.counts[i]}});
    }
  }
  expect_equal(*make_counted(c, single), *make_counted(c, steps_of(1)), "a call for each id");
}

void check_admits_all(const AdmissionConformance& c) {
  for (const auto& admission : {make_admission(c), make_counted(c, steps_of(1))}) {
    if (!admission->admits_all()) continue;
    for (const bool admitted : admission_answers(*admission)) EXPECT_TRUE(admitted);
  }
}

void check_forget(const AdmissionConformance& c) {
  const auto is_kept = [](int64_t id) { return id % 3 != 0; };
  const auto admission = make_counted(c, steps_of(1));
  std::vector<int64_t> forgotten = {12345};  // never counted
  for (const int64_t id : test_ids()) {
    if (!is_kept(id)) forgotten.push_back(id);
  }
  admission->forget(forgotten);
  expect_equal(*admission, *make_counted(c, steps_of(1, is_kept)), "without the forgotten ids");
}

void check_clear(const AdmissionConformance& c) {
  const auto admission = make_counted(c, steps_of(1));
  admission->clear();
  expect_equal(*admission, *make_admission(c), "after clear()");
  count(steps_of(2), admission.get());
  expect_equal(*admission, *make_counted(c, steps_of(2)), "counted after clear()");
}

void check_clone(const AdmissionConformance& c) {
  const auto expected = make_counted(c, steps_of(1));
  const auto admission = make_counted(c, steps_of(1));
  const auto clone = admission->clone();
  expect_equal(*clone, *expected, "the clone");
  count(steps_of(2), admission.get());
  expect_equal(*clone, *expected, "the clone, after the original counted more");
  const auto second = admission->clone();
  second->clear();
  count(steps_of(2), expected.get());
  expect_equal(*admission, *expected, "the original, after its clone was cleared");
}

void check_form(const AdmissionConformance& c) {
  const auto admission = make_counted(c, steps_of(1));
  const AdmissionState state = admission->state();
  EXPECT_TRUE(state.ids.empty() || state.sketch.counters.empty()) << "ids and a sketch";
  ASSERT_EQ(state.ids.size(), state.counts.size());
  EXPECT_EQ(admission->candidates(), static_cast<int64_t>(state.ids.size()));
  for (size_t i = 0; i < state.ids.size(); ++i) {
    EXPECT_GE(state.counts[i], 1u) << "id " << state.ids[i];
    if (i == 0) continue;
    EXPECT_LT(placement_hash(state.ids[i - 1]), placement_hash(state.ids[i]))
        << "ids are not by placement_hash";
  }
}

void check_continues(const AdmissionConformance& c) {
  for (const uint64_t before : {0, 3}) {  // a new instance, and an instance with counts
    const auto original = make_counted(c, steps_of(1));
    const auto admission = before == 0 ? make_admission(c) : make_counted(c, steps_of(before));
    ASSERT_OK(admission->set_state(original->state()));
    expect_equal(*admission, *original, "after set_state()");
    count(steps_of(2), original.get());
    count(steps_of(2), admission.get());
    expect_equal(*admission, *original, "counted after set_state()");
  }
}

// Expects that `admission`, with the steps of key 1, refuses `state` without a change.
void expect_refused(const AdmissionConformance& c, const AdmissionState& state, const char* what) {
  const auto admission = make_counted(c, steps_of(1));
  EXPECT_THAT(admission->set_state(state), StatusIs(absl::StatusCode::kInvalidArgument)) << what;
  expect_equal(*admission, *make_counted(c, steps_of(1)), what);
}

void check_foreign(const AdmissionConformance& c) {
  const AdmissionState own = make_counted(c, steps_of(1))->state();
  if (own.ids.empty()) expect_refused(c, {{1}, {2}, {}}, "ids, of which it has none");
  AdmissionState sketch;
  sketch.sketch = {.depth = 1, .width = 1, .counters = std::vector<uint8_t>(1024)};
  expect_refused(c, sketch, "a sketch that is not its own");
}

void check_damaged(const AdmissionConformance& c) {
  expect_refused(c, {{1, 2}, {3}, {}}, "fewer counts than ids");
  expect_refused(c, {{1}, {3, 4}, {}}, "more counts than ids");
  expect_refused(c, {{1, 1}, {3, 4}, {}}, "an id twice");
  expect_refused(c, {{1}, {0}, {}}, "a count of 0");
  AdmissionState state = make_counted(c, steps_of(1))->state();
  if (state.sketch.counters.empty()) return;
  state.sketch.counters.pop_back();
  expect_refused(c, state, "a sketch without its last counter");
}

// Each of two ranks counts the ids of its half of the placement hashes.
void check_join(const AdmissionConformance& c) {
  const auto is_first = [](int64_t id) { return placement_hash(id) >> 63 == 0; };
  const auto is_second = [&](int64_t id) { return !is_first(id); };
  AdmissionState joined = make_counted(c, steps_of(1, is_first))->state();
  const AdmissionState second = make_counted(c, steps_of(1, is_second))->state();
  joined.ids.insert(joined.ids.end(), second.ids.begin(), second.ids.end());
  joined.counts.insert(joined.counts.end(), second.counts.begin(), second.counts.end());
  ASSERT_EQ(joined.sketch.counters.size(), second.sketch.counters.size());
  const size_t half = second.sketch.counters.size() / 2;
  std::copy(second.sketch.counters.begin() + half, second.sketch.counters.end(),
            joined.sketch.counters.begin() + half);
  const auto admission = make_admission(c);
  ASSERT_OK(admission->set_state(joined));
  expect_equal(*admission, *make_counted(c, steps_of(1)), "the joined state of two ranks");
}

}  // namespace

std::vector<Property> admission_properties(const AdmissionConformance& conformance) {
  const auto property = properties_of(conformance);
  std::vector<Property> properties = {
      property("IsTheSameAtEveryCall", check_every_admission),
      property("IsTheSameOnSeveralThreads", check_admission_threads),
      property("IgnoresTheOrderOfIds", check_order),
      property("AdmitsAllImpliesAdmits", check_admits_all),
      property("ClearsAllCounts", check_clear),
      property("ClonesAreIndependent", check_clone),
      property("StateHasItsForm", check_form),
      property("ContinuesFromItsState", check_continues),
      property("RefusesForeignState", check_foreign),
      property("RefusesDamagedState", check_damaged),
      property("JoinsStatesOfRanks", check_join),
  };
  if (conformance.exact) {
    properties.push_back(property("IgnoresTheNumberOfCalls", check_calls));
    properties.push_back(property("ForgetsIds", check_forget));
  }
  return properties;
}

bool register_admission_conformance(const std::string& suite,
                                    const AdmissionConformance& conformance,
                                    std::source_location place) {
  return register_properties(suite, admission_properties(conformance), place);
}

}  // namespace millrace
