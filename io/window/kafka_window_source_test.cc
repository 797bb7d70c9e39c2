#include "io/window/kafka_window_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "io/kafka/kafka_cluster_testing.h"
#include "io/kafka/kafka_offsets.h"
#include "io/kafka/kafka_topic.h"
#include "io/window/window_source_registry.h"

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
    auto made = KafkaWindowSource::create(files_, config_, clock_);
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

  MemoryFileSystem files_;
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
  EXPECT_THAT(ranges(), ElementsAre("0/8-10", "1/1-5", "2/0-3"));
  ASSERT_EQ(find(*again), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("1/5-10", "2/3-7"));
  EXPECT_EQ(find(*again), Found::kNotYet);
  ASSERT_EQ(find(*again, /*no_more=*/true), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("1/10-11", "2/7-10"));
  EXPECT_EQ(find(*again, /*no_more=*/true), Found::kEnded);
}

TEST_F(KafkaWindowSourceTest, LooksBehindEndsThatAreTooLow) {
  produce(0, 10);
  produce(1, 1);
  ASSERT_OK_AND_ASSIGN(const auto consumer, KafkaConsumer::create(config_));
  std::vector<KafkaOffsets> ranges = {{.begin = 1, .end = 2}, {}, {}};
  ASSERT_OK(consumer->extend(4, &ranges));
  const auto ends = [&] { return std::vector{ranges[0].end, ranges[1].end, ranges[2].end}; };
  EXPECT_THAT(ends(), ElementsAre(5, 1, 0));
  EXPECT_OK(consumer->confirm(ranges));
  ranges[1].end = 2;
  EXPECT_THAT(consumer->confirm(ranges),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("partition 1")));
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

TEST_F(KafkaWindowSourceTest, WindowsOfBytes) {
  config_.set_records(20);
  config_.set_bytes(15);  // five records of three bytes
  produce(0, 4);
  const auto windows = source();
  EXPECT_EQ(find(*windows), Found::kNotYet);
  EXPECT_EQ(windows->waits_for(), "records of topic t (4 of 20, 12 bytes of 15 are there)");
  produce(1, 2);
  ASSERT_EQ(find(*windows), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("0/0-4", "1/0-1"));
  EXPECT_EQ(find(*windows), Found::kNotYet);
  produce(1, 18);
  produce(2, 18);
  const auto again = source();  // as after a resume
  ASSERT_EQ(find(*again), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("1/1-4", "2/0-2")) << "no partition falls behind";
  config_.set_bytes(1);
  ASSERT_EQ(find(*source()), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("1/4-5")) << "one record at least";
  config_.set_bytes(1000);
  config_.set_records(3);
  ASSERT_EQ(find(*source()), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("1/5-8")) << "records are a limit, too";
}

TEST_F(KafkaWindowSourceTest, BeginsAtTheOffsetsOfAFile) {
  produce(0, 5);
  produce(1, 6);
  produce(2, 7);
  config_.set_start_offsets("offsets.json");
  const auto fails = [&](const std::string& text, const std::string& why) {
    files_.put("offsets.json", text);
    WindowPosition position;
    EXPECT_THAT(source()->find(true, position).status().message(), HasSubstr(why)) << text;
  };
  fails("{", "it is not {");
  fails(R"({"offsets": 3})", "it is not {");
  fails(R"({"topic": "u", "offsets": {}})", "it is of topic \"u\"");
  fails(R"({"offsets": {"x": 1}})", "is no partition and offset");
  fails(R"({"offsets": {"0": -1}})", "is no partition and offset");
  fails(R"({"offsets": {"3": 1}})", "partition 3 is none of the 3");
  files_.put("offsets.json", R"({"topic": "t", "offsets": {"0": 2, "2": 7}})");
  ASSERT_EQ(find(*source()), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("0/2-5", "1/0-6"));
  EXPECT_THAT(position_.next_offset(), ElementsAre(5, 6, 7));
  ASSERT_OK(files_.remove("offsets.json"));
  EXPECT_EQ(find(*source()), Found::kNotYet) << "a resume needs no file";
}

TEST_F(KafkaWindowSourceTest, CommitsOffsetsAndTellsTheLag) {
  config_.set_group("trainers");
  config_.set_records(4);
  produce(0, 6);
  const auto windows = source();
  ASSERT_EQ(find(*windows), Found::kWindow);
  windows->saved(position_);
  EXPECT_EQ(cluster_.committed("trainers", "t", 0), 4);
  EXPECT_EQ(cluster_.committed("trainers", "t", 1), 0);
  EXPECT_EQ(cluster_.committed("others", "t", 0), -1) << "none";
  std::map<std::string, double> figures;
  for (const StreamFigure& figure : windows->figures()) figures[figure.name] = figure.value;
  EXPECT_EQ(figures["kafka_lag_records"], 6);
  const int64_t now = absl::ToUnixMillis(absl::Now());
  KafkaCounters& counters = KafkaCounters::of("t");
  const int64_t bytes = counters.bytes;
  counters.note({.time_ms = now - 7000, .value = "1234"});
  counters.note({.time_ms = now + 3600000, .value = ""});  // a clock that is wrong
  figures.clear();
  for (const StreamFigure& figure : windows->figures()) figures[figure.name] = figure.value;
  EXPECT_EQ(figures["kafka_bytes"], bytes + 4);
  EXPECT_EQ(counters.last_time_ms, now - 7000);
  EXPECT_EQ(figures.count("kafka_retries") + figures.count("kafka_lag_seconds"), 2u);
}

TEST_F(KafkaWindowSourceTest, FilesAndThenTheTopic) {
  produce(0, 9);
  files_.put("a.csv", "1,1\n");
  files_.put("b.csv", "1,1\n");
  files_.put("offsets.json", R"({"offsets": {"0": 3}})");
  config_.set_start_offsets("offsets.json");
  config_.set_records(4);
  DataConfig data;
  data.add_path("*.csv");
  data.mutable_csv()->add_column("x");
  *data.mutable_windows()->mutable_kafka() = config_;
  ASSERT_OK(check_windows("windows", data));
  const auto make = [&] {
    const auto count_rows = [](const std::string&) { return 1; };
    return window_source_registry().create(data.windows(),
                                           WindowSourceInput{&files_, data, count_rows}, 0);
  };
  ASSERT_OK_AND_ASSIGN(const auto first, make());
  ASSERT_EQ(find(*first), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("a.csv"));
  EXPECT_TRUE(first->has_files(position_));
  ASSERT_EQ(find(*first), Found::kWindow);
  ASSERT_EQ(find(*first), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("kafka://t/0/3-7"));
  EXPECT_FALSE(first->has_files(position_));
  DataConfig of_topic = data;
  first->set_format(position_, of_topic);
  EXPECT_EQ(of_topic.custom_format().name(), "kafka");
  // The files and the offsets are needed no more.
  for (const char* name : {"a.csv", "b.csv", "offsets.json"}) ASSERT_OK(files_.remove(name));
  ASSERT_OK_AND_ASSIGN(const auto again, make());
  ASSERT_EQ(find(*again, /*no_more=*/true), Found::kWindow);
  EXPECT_THAT(ranges(), ElementsAre("kafka://t/0/7-9"));
  EXPECT_EQ(find(*again, /*no_more=*/true), Found::kEnded);
}

}  // namespace
}  // namespace millrace
