#include "checkpoint/state/state_messages.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::HasSubstr;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

TableCounters some_counters(int64_t from) {
  TableCounters counters;
  counters.applied_steps = from;
  counters.last_step = from + 1;
  counters.counted.inserted = from + 2;
  for (int i = 0; i < kEvictionReasons; ++i) counters.counted.evicted[i] = from + 10 + i;
  counters.counted.steps = from + 3;
  counters.counted.occurrences = from + 4;
  counters.counted.unique_ids = from + 5;
  counters.counted.hottest = from + 6;
  counters.counted.unadmitted = from + 7;
  return counters;
}

TEST(StateMessagesTest, ProgressComesBack) {
  const Progress progress = {1, 2, 3, 4, 5, 6, absl::Nanoseconds(7'000'000'001)};
  EXPECT_THAT(from_state(to_state(progress)), IsOkAndHolds(progress));
  EXPECT_THAT(from_state(to_state(Progress())), IsOkAndHolds(Progress()));
  Progress bad = progress;
  bad.window = -1;
  EXPECT_THAT(from_state(to_state(bad)), StatusIs(kDataLoss, HasSubstr("-1")));
}

TEST(StateMessagesTest, ManifestsSayProgressInSeconds) {
  const Progress progress = {1, 2, 3, 4, 5, 6, absl::Milliseconds(7500)};
  const CheckpointManifest::Progress said = to_manifest(to_state(progress));
  EXPECT_DOUBLE_EQ(said.elapsed_seconds(), 7.5);
  EXPECT_EQ(said.window(), 4);
  EXPECT_EQ(absl::ToInt64Milliseconds(from_manifest(said).elapsed), 7500);
  EXPECT_EQ(from_manifest(said).skipped_examples, 6);
}

TEST(StateMessagesTest, CountersComeBack) {
  const TableCountersState state = to_state("items", some_counters(100));
  EXPECT_EQ(state.table(), "items");
  ASSERT_OK_AND_ASSIGN(const TableCounters back, from_state(state));
  EXPECT_EQ(to_state("items", back).SerializeAsString(), state.SerializeAsString());
  EXPECT_EQ(back.counted.evicted[kEvictionReasons - 1], 110 + kEvictionReasons - 1);
}

// Earlier programs have six reasons, and write and read six counts.
TEST(StateMessagesTest, EvictionsByCustomRulesAreWrittenWhereThereAreAny) {
  TableCounters counters = some_counters(100);
  EXPECT_EQ(to_state("items", counters).evicted_size(), 7);
  counters.counted.evicted[static_cast<int>(EvictionReason::kCustom)] = 0;
  const TableCountersState without = to_state("items", counters);
  EXPECT_EQ(without.evicted_size(), 6);
  ASSERT_OK_AND_ASSIGN(const TableCounters back, from_state(without));
  EXPECT_EQ(back.counted.evicted, counters.counted.evicted);
}

TEST(StateMessagesTest, DamagedCountersAreRefused) {
  const auto expect_refused = [](void (*spoil)(TableCountersState&)) {
    TableCountersState state = to_state("items", some_counters(1));
    spoil(state);
    EXPECT_THAT(from_state(state), StatusIs(kDataLoss, HasSubstr("table items"))) << "not refused";
  };
  expect_refused([](TableCountersState& state) { state.set_applied_steps(-1); });
  expect_refused([](TableCountersState& state) { state.set_last_step(-1); });
  expect_refused([](TableCountersState& state) { state.set_hottest(-1); });
  expect_refused([](TableCountersState& state) { state.set_evicted(2, -1); });
  expect_refused([](TableCountersState& state) { state.add_evicted(1); });
  expect_refused([](TableCountersState& state) { state.clear_evicted(); });
}

TEST(StateMessagesTest, RanksAddUp) {
  const TableCounters sum = merged(some_counters(1), some_counters(2));
  EXPECT_EQ(sum.applied_steps, 2);
  EXPECT_EQ(sum.last_step, 3);
  EXPECT_EQ(sum.counted.inserted, 3 + 4);
  EXPECT_EQ(sum.counted.evicted[0], 11 + 12);
  EXPECT_EQ(sum.counted.unadmitted, 8 + 9);
}

}  // namespace
}  // namespace millrace
