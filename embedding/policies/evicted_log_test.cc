#include "embedding/policies/evicted_log.h"

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Ids = std::vector<int64_t>;
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

Ids in_order(Ids ids) {
  std::sort(ids.begin(), ids.end(),
            [](int64_t a, int64_t b) { return placement_hash(a) < placement_hash(b); });
  return ids;
}

TEST(EvictedLogTest, ListsWhatWentSinceAStep) {
  EvictedLog log(100);
  EXPECT_THAT(log.since(0), IsOkAndHolds(IsEmpty()));
  log.add(5, Ids{1, kLowest, 3});
  log.add(5, Ids{0});
  log.add(9, Ids{});
  log.add(9, Ids{-1, 3});
  EXPECT_THAT(log.since(0), IsOkAndHolds(in_order({1, kLowest, 3, 0, -1})));
  EXPECT_THAT(log.since(5), IsOkAndHolds(in_order({1, kLowest, 3, 0, -1})));
  EXPECT_THAT(log.since(6), IsOkAndHolds(in_order({-1, 3})));
  EXPECT_THAT(log.since(10), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(log.begins(), 0);
  EXPECT_GE(log.bytes(), 6 * 8);
}

TEST(EvictedLogTest, ForgetsTheOldestAndSaysSo) {
  EvictedLog log(4);
  log.add(1, Ids{1, 2});
  log.add(2, Ids{3, 4});
  EXPECT_EQ(log.begins(), 0);
  log.add(7, Ids{5});
  EXPECT_EQ(log.begins(), 2);
  EXPECT_THAT(log.since(2), IsOkAndHolds(in_order({3, 4, 5})));
  EXPECT_THAT(log.since(1),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("the log begins at step 2")));
  log.add(8, Ids{1, 2, 3, 4, 5});  // more than the capacity
  EXPECT_EQ(log.begins(), 9);
  EXPECT_THAT(log.since(9), IsOkAndHolds(IsEmpty()));
  EXPECT_FALSE(log.since(8).ok());
}

TEST(EvictedLogTest, RestartForgetsAll) {
  EvictedLog log(4);
  log.add(1, Ids{1, 2});
  log.restart(6);
  EXPECT_FALSE(log.since(5).ok());
  EXPECT_THAT(log.since(6), IsOkAndHolds(IsEmpty()));
  log.add(6, Ids{1, 2, 3, 4});
  EXPECT_THAT(log.since(6), IsOkAndHolds(in_order({1, 2, 3, 4})));
}

TEST(EvictedLogTest, AStateGoesOnAsTheLogDid) {
  EvictedLog log(4);
  log.add(1, Ids{1, 2});
  log.add(2, Ids{3});
  log.add(2, Ids{4});
  EvictedLog other(4);
  other.add(9, Ids{7});
  ASSERT_OK(other.set_state(log.state()));
  Ids ids = in_order({1, 2});
  for (const int64_t id : in_order({3, 4})) ids.push_back(id);
  EXPECT_EQ(other.state(), (EvictedLogState{0, ids, {1, 1, 2, 2}}));
  for (EvictedLog* one : {&log, &other}) one->add(3, Ids{5});
  EXPECT_EQ(other.state(), log.state());
  EXPECT_EQ(other.begins(), 2);
  EXPECT_THAT(other.since(2), IsOkAndHolds(in_order({3, 4, 5})));
  for (EvictedLog* one : {&log, &other}) one->add(4, Ids{6, 7});
  EXPECT_EQ(other.state(), log.state()) << "a step is forgotten whole";
  EXPECT_EQ(other.begins(), 3);
}

TEST(EvictedLogTest, RefusesDamagedStates) {
  EvictedLog log(4);
  log.add(1, Ids{1});
  for (const EvictedLogState& bad :
       {EvictedLogState{0, {1, 2}, {1}}, EvictedLogState{0, {1, 2}, {2, 1}},
        EvictedLogState{0, {1}, {-1}}, EvictedLogState{-1, {}, {}}}) {
    EXPECT_THAT(log.set_state(bad), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("the log of evicted ids is damaged")));
    EXPECT_THAT(log.since(0), IsOkAndHolds(in_order({1})));
  }
}

TEST(EvictedLogTest, NoCapacityKnowsNothing) {
  EvictedLog log(0);
  log.add(3, Ids{1});
  EXPECT_EQ(log.begins(), 4);
}

}  // namespace
}  // namespace millrace
