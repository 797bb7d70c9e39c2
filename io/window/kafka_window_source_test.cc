#include "io/window/kafka_window_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "io/kafka/kafka_cluster_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KafkaWindowSourceTest : public testing::Test {
 protected:
  KafkaWindowSourceTest() {
    cluster_.create_topic("t", 3);
    config_.set_brokers(cluster_.brokers());
    config_.set_topic("t");
    config_.set_records(9);
  }
  std::unique_ptr<WindowSource> source() {
    auto made = KafkaWindowSource::create(config_, clock_);
    EXPECT_OK(made.status());
    return *std::move(made);
  }
  void produce(int partition, int records, int64_t time_ms = 0) {
    for (int i = 0; i < records; ++i) cluster_.produce("t", partition, "1,2", "", time_ms);
    cluster_.flush();
  }
  Found find(WindowSource& source, bool no_more = false) {
    const auto found = source.find(no_more, position_);
    EXPECT_OK(found.status());
    return found.value_or(Found::kEnded);
  }
  std::vector<std::string> ranges() const {
    std::vector<std::string> names;
    for (const auto& file : position_.file()) names.push_back(file.name());
    return names;
  }

  KafkaCluster cluster_;
  KafkaWindows config_;
  FakeClock clock_;
  WindowPosition position_;
};

TEST_F(KafkaWindowSourceTest, WindowsTakeAsMuchOfEachPartition) {
  produce(0, 10);
  produce(1, 1);
  const auto windows = source();
  ASSERT_EQ(find(*windows), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("0/0-8", "1/0-1"));
  EXPECT_EQ(position_.name(), "t to 9");
  EXPECT_EQ(windows->path_of("0/0-8"), "kafka://t/0/0-8");
  ASSERT_EQ(find(*windows), Found::kNotYet);
  EXPECT_EQ(windows->waits_for(), "records of topic t (2 of 9 are there)");
  produce(1, 10);
  produce(2, 10);
  const auto again = source();  // as after a resume
  ASSERT_EQ(find(*again), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("0/8-10", "1/1-4", "2/0-4"));
  ASSERT_EQ(find(*again), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("1/4-9", "2/4-8"));
  EXPECT_EQ(find(*again), Found::kNotYet);
  ASSERT_EQ(find(*again, /*no_more=*/true), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("1/9-11", "2/8-10"));
  EXPECT_EQ(find(*again, /*no_more=*/true), Found::kEnded);
}

TEST_F(KafkaWindowSourceTest, AWindowOfFewerRecordsAfterAWhile) {
  config_.set_seconds(5);
  const auto windows = source();
  clock_.advance(absl::Hours(1));
  EXPECT_EQ(find(*windows), Found::kNotYet);
  produce(2, 3);
  EXPECT_EQ(find(*windows), Found::kNotYet);
  clock_.advance(absl::Seconds(5));
  ASSERT_EQ(find(*windows), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("2/0-3"));
  produce(2, 1);
  EXPECT_EQ(find(*windows), Found::kNotYet);
}

TEST_F(KafkaWindowSourceTest, WhereANewJobBegins) {
  produce(0, 5, 1700000000000);
  produce(0, 5, 1700000060000);
  produce(1, 4, 1700000000000);
  config_.set_start(KafkaWindows::LATEST);
  const auto latest = source();
  EXPECT_EQ(find(*latest, /*no_more=*/true), Found::kEnded);
  produce(1, 2, 1700000060000);
  ASSERT_EQ(find(*latest, /*no_more=*/true), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("1/4-6")) << "what came since the first look";
}

TEST_F(KafkaWindowSourceTest, PartitionsThatAreAddedBeginAtTheirFirstRecord) {
  produce(0, 2);
  produce(2, 2);
  config_.set_start(KafkaWindows::LATEST);
  position_.add_next_offset(1);
  position_.add_next_offset(0);
  ASSERT_EQ(find(*source(), /*no_more=*/true), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("0/1-2", "2/0-2"));
}

// A broker that has just started may know less.
TEST_F(KafkaWindowSourceTest, AnotherTopicOfTheNameIsNamedAfterAWhile) {
  produce(0, 2);
  const struct {
    std::vector<int64_t> next;
    const char* why;
  } cases[] = {{{1, 0, 0, 0}, "has 3 partitions; the job has read 4"},
               {{3, 0, 0}, "partition 0: offset 3 is not there: the topic was made anew"}};
  for (const auto& [next, why] : cases) {
    position_.clear_next_offset();
    for (const int64_t offset : next) position_.add_next_offset(offset);
    const auto windows = source();
    EXPECT_EQ(find(*windows), Found::kNotYet);
    EXPECT_THAT(windows->waits_for(), HasSubstr(why));
    clock_.advance(absl::Seconds(10));
    EXPECT_THAT(windows->find(false, position_).status(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(why)));
  }
}

// The mock cluster drops the oldest records of a partition beyond 5 MB.
TEST_F(KafkaWindowSourceTest, RecordsThatAreGone) {
  const std::string large(100000, ' ');
  for (int i = 0; i < 100; ++i) cluster_.produce("t", 0, large);
  cluster_.flush();
  position_.add_next_offset(7);
  EXPECT_THAT(source()->find(false, position_).status(),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("topic t, partition 0: offset 7 is no longer there")));
  config_.set_missing(KafkaWindows::SKIP);
  config_.set_records(1000);
  ASSERT_EQ(find(*source(), /*no_more=*/true), Found::kWindow);
  EXPECT_THAT(ranges()[0], testing::EndsWith("-100"));
}

TEST_F(KafkaWindowSourceTest, ABrokerThatDoesNotAnswerDelaysTheWindow) {
  produce(0, 10);
  cluster_.set_down(1, true);
  const auto windows = source();
  EXPECT_EQ(find(*windows), Found::kNotYet);
  const int64_t seen = windows->seen();
  EXPECT_EQ(find(*windows), Found::kNotYet);
  EXPECT_NE(windows->seen(), seen) << "an outage is no time without records";
  cluster_.set_down(1, false);
  Found found = Found::kNotYet;
  while (found == Found::kNotYet && !HasFailure()) found = find(*windows);
  EXPECT_THAT(ranges(), ElementsAre("0/0-9"));
}

}  // namespace
}  // namespace millrace
