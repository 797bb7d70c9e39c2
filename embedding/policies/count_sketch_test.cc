#include "embedding/policies/count_sketch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::HasSubstr;

void add_one(CountSketch& sketch, int64_t id, uint32_t count = 1) {
  sketch.add({&id, 1}, {&count, 1});
}

TEST(CountSketchTest, CountsUpTo255) {
  CountSketch sketch(100, 0.01);
  EXPECT_EQ(sketch.count(-5), 0u);
  add_one(sketch, -5, 3);
  add_one(sketch, -5, 4);
  EXPECT_EQ(sketch.count(-5), 7u);
  add_one(sketch, -5, 247);
  EXPECT_EQ(sketch.count(-5), 254u);
  add_one(sketch, -5, 4'000'000'000u);
  EXPECT_EQ(sketch.count(-5), 255u);
  sketch.clear();
  EXPECT_EQ(sketch.count(-5), 0u);
  EXPECT_EQ(sketch.load(), 0);
}

// Similar ids must behave as random ones.
int64_t strided(int64_t i) { return i << 40; }
int64_t random_like(int64_t i) {
  return static_cast<int64_t>(static_cast<uint64_t>(i) * 0x5851f42d4c957f2dULL);
}
int64_t consecutive(int64_t i) { return i - 500'000; }

class ErrorTest : public testing::TestWithParam<int64_t (*)(int64_t)> {};

TEST_P(ErrorTest, NeverTooFewAndSeldomTooMany) {
  for (const auto& [error, depth] : {std::pair{0.25, 2}, {0.02, 6}}) {
    constexpr int64_t kCapacity = 50'000;
    CountSketch sketch(kCapacity, error);
    EXPECT_EQ(sketch.state().depth, depth);
    std::mt19937 random(7);
    std::vector<uint32_t> counts(kCapacity);
    for (int step = 0; step < 50; ++step) {
      std::map<int64_t, uint32_t> seen;
      for (int i = 0; i < 3000; ++i) ++seen[random() % kCapacity];
      std::vector<int64_t> ids;
      std::vector<uint32_t> more;
      for (const auto& [i, count] : seen) {
        ids.push_back(GetParam()(i));
        more.push_back(count);
        counts[i] += count;
      }
      sketch.add(ids, more);
    }
    int64_t wrong = 0, wrong_unseen = 0;
    for (int64_t i = 0; i < kCapacity; ++i) {
      ASSERT_GE(sketch.count(GetParam()(i)), counts[i]);
      wrong += sketch.count(GetParam()(i)) > counts[i];
      wrong_unseen += sketch.count(GetParam()(i + 2 * kCapacity)) > 0;
    }
    EXPECT_LE(wrong, error * kCapacity);
    // 5 standard deviations of a binomial above the stated error.
    EXPECT_LE(wrong_unseen, error * kCapacity + 5 * std::sqrt(error * kCapacity));
    EXPECT_LE(sketch.load(), 0.5);
  }
}

INSTANTIATE_TEST_SUITE_P(Ids, ErrorTest, testing::Values(&strided, &random_like, &consecutive));

TEST(CountSketchTest, TheOrderOfIdsInAStepDoesNotMatter) {
  CountSketch a(2000, 0.3), b(2000, 0.3);
  std::mt19937 random(3);
  for (int step = 0; step < 20; ++step) {
    std::vector<int64_t> ids(500);
    std::vector<uint32_t> counts(500);
    for (int i = 0; i < 500; ++i) {
      ids[i] = step * 400 + i;
      counts[i] = 1 + random() % 5;
    }
    a.add(ids, counts);
    std::reverse(ids.begin(), ids.end());
    std::reverse(counts.begin(), counts.end());
    b.add(ids, counts);
  }
  EXPECT_EQ(a.state(), b.state());
}

TEST(CountSketchTest, MoreIdsThanFitHalveTheCounts) {
  CountSketch sketch(1000, 0.1);
  add_one(sketch, 42, 200);
  const uint32_t before = sketch.count(42);
  EXPECT_EQ(before, 200u);
  for (int64_t id = 1000; id < 200'000; ++id) {
    add_one(sketch, id);
    ASSERT_LE(sketch.load(), 0.5);
  }
  // 199 times the capacity: the count was halved away, and nearly all single counts.
  EXPECT_LT(sketch.count(42), 10u);
  int64_t kept = 0;
  for (int64_t id = 1000; id < 200'000; ++id) kept += sketch.count(id) > 0;
  EXPECT_LT(kept, 40'000);
}

TEST(CountSketchTest, UpToCapacityNothingIsHalved) {
  for (const int64_t capacity : {1, 1000, 100'000}) {
    CountSketch sketch(capacity, 0.05);
    for (int64_t id = 0; id < capacity; ++id) add_one(sketch, random_like(id));
    for (int64_t id = 0; id < capacity; ++id) {
      ASSERT_GE(sketch.count(random_like(id)), 1u) << id << " of " << capacity;
    }
  }
}

TEST(CountSketchTest, MemoryIsAsDocumented) {
  const CountSketch sketch(1'000'000, 0.01);
  EXPECT_EQ(sketch.state().depth, 7);
  EXPECT_NEAR(static_cast<double>(sketch.bytes()) / 1e6, 1.44 * 7, 2);
}

TEST(CountSketchTest, StateGoesOutAndComesBack) {
  CountSketch sketch(500, 0.1), other(500, 0.1);
  for (int64_t id = 0; id < 300; ++id) add_one(sketch, id, 3);
  ASSERT_OK(other.set_state(sketch.state()));
  EXPECT_EQ(other.count(17), sketch.count(17));
  EXPECT_EQ(other.load(), sketch.load());
  for (int64_t id = 0; id < 5000; ++id) {
    add_one(sketch, id, 3);
    add_one(other, id, 3);
  }
  EXPECT_EQ(other.state(), sketch.state());
}

TEST(CountSketchTest, RefusesStatesThatAreNotItsOwn) {
  CountSketch sketch(500, 0.1);
  add_one(sketch, 1);
  const CountSketchState before = sketch.state();
  EXPECT_THAT(sketch.set_state(CountSketch(500, 0.01).state()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not one of")));
  CountSketchState state = before;
  state.counters.pop_back();
  EXPECT_FALSE(sketch.set_state(state).ok());
  state = before;
  std::fill(state.counters.begin(), state.counters.end(), 1);
  EXPECT_THAT(sketch.set_state(state),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than half full")));
  EXPECT_EQ(sketch.state(), before);
}

}  // namespace
}  // namespace millrace
