#include "distributed/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kStep = absl::Seconds(10);

Heartbeat beat(int64_t number) { return {.beat = number}; }

TEST(HeartbeatTest, TextAndBack) {
  const Heartbeat heartbeat = {.beat = 7,
                               .phase = RankPhase::kEvaluation,
                               .step = 1'000'000'000'000,
                               .started = {3, 4, 5},
                               .left = true,
                               .knows_failure = true,
                               .stop_signal = 15,
                               .host = "node01"};
  std::optional<Heartbeat> parsed = parse_heartbeat(format_heartbeat(heartbeat));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->beat, 7);
  EXPECT_EQ(parsed->phase, RankPhase::kEvaluation);
  EXPECT_EQ(parsed->step, 1'000'000'000'000);
  EXPECT_THAT(parsed->started, ElementsAre(3, 4, 5));
  EXPECT_TRUE(parsed->left);
  EXPECT_TRUE(parsed->knows_failure);
  EXPECT_EQ(parsed->stop_signal, 15);
  EXPECT_EQ(parsed->host, "node01");
  EXPECT_EQ(parse_heartbeat(format_heartbeat({}))->host, "");
  EXPECT_FALSE(parse_heartbeat(format_heartbeat({}))->left);
}

TEST(HeartbeatTest, OtherTextIsNone) {
  for (const char* text :
       {"", "1", "1 2 3 4 5 6 0 0", "1 2 3 4 5 6 0 0 0 host 7", "1 2 x 4 5 6 0 0 0",
        "1 -1 3 4 5 6 0 0 0", "1 99 3 4 5 6 0 0 0", "1 2 3 4 5 6 0 0 -1", "1 2 3 4 5 6 0 0 99"}) {
    EXPECT_FALSE(parse_heartbeat(text).has_value()) << text;
  }
}

TEST(PeerWatchTest, TheLowestOtherRankWithAStopSignalCounts) {
  PeerWatch watch(1, 4, kStep);
  EXPECT_EQ(watch.stop_signal(), 0);
  watch.observe(1, {.beat = 1, .stop_signal = 1}, absl::Seconds(1));
  EXPECT_EQ(watch.stop_signal(), 0) << "its own";
  watch.observe(3, {.beat = 1, .stop_signal = 15}, absl::Seconds(1));
  EXPECT_EQ(watch.stop_signal(), 15);
  watch.observe(2, {.beat = 1, .stop_signal = 10}, absl::Seconds(1));
  EXPECT_EQ(watch.stop_signal(), 10);
}

// Machines are named only if there are several.
TEST(PeerWatchTest, ErrorsNameTheMachine) {
  PeerWatch watch(0, 4, kStep, "node01");
  watch.observe(1, {.beat = 1, .host = "node01"}, absl::Seconds(1));
  EXPECT_EQ(watch.name(1), "rank 1");
  watch.observe(2, {.beat = 1, .phase = RankPhase::kUpdate, .step = 7, .host = "node02"},
                absl::Seconds(1));
  EXPECT_EQ(watch.blame({2, 1}, "gone").message(),
            "rank 2 on node02 failed in update of step 7: gone; likewise rank 1 on node01 in "
            "rendezvous of step 0");
  EXPECT_EQ(watch.name(0), "rank 0 on node01");
  EXPECT_EQ(watch.name(3), "rank 3") << "not known yet";
}

TEST(PeerWatchTest, SilenceIsTimeWithoutANewBeat) {
  PeerWatch watch(0, 3, kStep);
  watch.observe(1, beat(1), absl::Seconds(100));
  EXPECT_EQ(watch.silence(1), absl::ZeroDuration());
  watch.observe(1, beat(1), absl::Seconds(102));
  watch.observe(1, beat(1), absl::Seconds(105));
  EXPECT_EQ(watch.silence(1), absl::Seconds(5));
  EXPECT_THAT(watch.silent(absl::Seconds(5)), ElementsAre(1));
  EXPECT_THAT(watch.silent(absl::Seconds(6)), IsEmpty());
  watch.observe(1, beat(2), absl::Seconds(106));
  EXPECT_EQ(watch.silence(1), absl::ZeroDuration());
}

// The rendezvous and the supervisor count beats separately.
TEST(PeerWatchTest, AnotherStateIsASignOfLifeWithAnyBeat) {
  PeerWatch watch(0, 2, kStep);
  watch.observe(1, beat(1), absl::Seconds(0));
  watch.observe(1, {.beat = 1, .phase = RankPhase::kLookup, .step = 1}, absl::Seconds(4));
  EXPECT_EQ(watch.silence(1), absl::ZeroDuration());
  EXPECT_EQ(watch.last(1).phase, RankPhase::kLookup);
}

TEST(PeerWatchTest, OneWhoWasFrozenDoesNotBlameTheOthers) {
  PeerWatch watch(0, 2, kStep);
  watch.observe(1, beat(1), absl::Seconds(0));
  watch.observe(1, beat(1), absl::Hours(5));
  EXPECT_EQ(watch.silence(1), kStep);
}

TEST(PeerWatchTest, SilenceWhereNothingCouldBeRead) {
  PeerWatch watch(1, 2, kStep);
  watch.observe(0, beat(1), absl::Seconds(0));
  watch.observe_nothing(0, absl::Seconds(4));
  EXPECT_EQ(watch.silence(0), absl::Seconds(4));
}

TEST(PeerWatchTest, TheRankItselfAndThoseThatLeftAreNotSilent) {
  PeerWatch watch(0, 3, kStep);
  for (int peer = 0; peer < 3; ++peer) {
    Heartbeat heartbeat = beat(1);
    heartbeat.left = peer == 2;
    watch.observe(peer, heartbeat, absl::Seconds(0));
    watch.observe(peer, heartbeat, absl::Seconds(9));
  }
  EXPECT_THAT(watch.silent(absl::Seconds(9)), ElementsAre(1));
  EXPECT_EQ(watch.left(), 2);
}

TEST(PeerWatchTest, AbsenceByChannel) {
  PeerWatch watch(0, 3, kStep);
  watch.observe(1, {.beat = 1, .started = {4, 2, 7}}, absl::ZeroDuration());
  watch.observe(2, {.beat = 1, .started = {3, 3, 6}}, absl::ZeroDuration());
  EXPECT_THAT(watch.absent(Channel::kControl, 4), ElementsAre(2));
  EXPECT_THAT(watch.absent(Channel::kData, 3), ElementsAre(1));
  EXPECT_THAT(watch.absent(Channel::kData, 2), IsEmpty());
  EXPECT_THAT(watch.absent(Channel::kTables, 7), ElementsAre(2));
  EXPECT_THAT(watch.absent(Channel::kTables, 6), IsEmpty());
  EXPECT_THAT(watch.absent(Channel::kControl, 9), ElementsAre(2)) << "rank 1 may wait for rank 2";
  watch.observe(2, {.beat = 2, .started = {4, 3, 6}}, absl::ZeroDuration());
  EXPECT_THAT(watch.absent(Channel::kControl, 9), ElementsAre(1, 2));
}

TEST(PeerWatchTest, BlameNamesAll) {
  PeerWatch watch(0, 3, kStep);
  watch.observe(1, {.beat = 1, .phase = RankPhase::kForward, .step = 12}, absl::ZeroDuration());
  watch.observe(2, {.beat = 1, .phase = RankPhase::kUpdate, .step = 11}, absl::ZeroDuration());
  EXPECT_EQ(watch.blame({1}, "it is slow"), peer_error(1, RankPhase::kForward, 12, "it is slow"));
  EXPECT_EQ(
      watch.blame({1, 2}, "it is slow"),
      peer_error(1, RankPhase::kForward, 12, "it is slow; likewise rank 2 in update of step 11"));
  PeerWatch many(0, 100, kStep);
  std::vector<int> peers(20);
  for (int i = 0; i < 20; ++i) peers[i] = i + 1;
  EXPECT_THAT(std::string(many.blame(peers, "x").message()),
              testing::EndsWith("; and 12 more ranks"));
}

}  // namespace
}  // namespace millrace
