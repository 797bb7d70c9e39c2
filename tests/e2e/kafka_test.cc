// Tests `millrace train` on a Kafka topic, with librdkafka's mock cluster in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/kafka/kafka_cluster_testing.h"
#include "tests/e2e/streaming_case.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// What is a file in StreamingCase are kRows records, and a window.
class KafkaTest : public StreamingCase {
 protected:
  KafkaTest() {
    cluster_.create_topic("clicks", 1);
    write_kafka_job("");
  }

  void write_kafka_job(const std::string& more) {
    write_job_on(absl::StrCat("shuffle_rows: 300 csv { column: ['label', 'i1', 'c1', 'id'] } ",
                              "windows { kafka { brokers: '", cluster_.brokers(),
                              "' topic: 'clicks' records: ", kRows, " } ", more, " }"));
  }
  void produce_rows(int64_t, int64_t begin, int64_t end, const std::string&) const override {
    for (int64_t row = begin; row < end; ++row) cluster_.produce("clicks", 0, line_of(row));
    cluster_.flush();
  }
  // The stream ends after a second without records.
  void produce_end(const std::string&) const override {
    const_cast<KafkaTest*>(this)->write_kafka_job("idle_seconds: 1");
  }

  mutable KafkaCluster cluster_;
};

TEST_F(KafkaTest, TrainsAsOnFilesWithTheSameRows) {
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("waiting since"));
  for (int64_t file = 0; file < 3; ++file) produce(file);
  ASSERT_TRUE(program.wait_for("step 12 "));
  produce_rows(3, 3 * kRows, 3 * kRows + 70, "");
  program.send(SIGTERM);
  EXPECT_EQ(program.finish().exit_code, kRunAgain);
  produce_end("");
  const ProgramResult rest = run();
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  auto expected = produced(4);
  expected[3].resize(70);
  EXPECT_EQ(trained("out"), expected) << "the last window has the rest";
  EXPECT_EQ(read_json_lines("out/windows.jsonl")[1]["files"],
            nlohmann::json({"kafka://clicks/0/200-400"}));

  write_job("");
  for (int64_t file = 0; file < 4; ++file) {
    StreamingCase::produce_rows(file, file * kRows, file < 3 ? (file + 1) * kRows : 3 * kRows + 70,
                                "incoming");
  }
  StreamingCase::produce_end("incoming");
  const ProgramResult files = run({"--output_dir", "files"});
  ASSERT_EQ(files.exit_code, 0) << files.err;
  EXPECT_EQ(content_of("out"), content_of("files"));
}

TEST_F(KafkaTest, KilledByChanceWhileRecordsCome) { survive(/*kills=*/5, /*files=*/8, /*seed=*/1); }

TEST_F(KafkaTest, ARankKilledByChanceWhileRecordsCome) {
  survive_over_ranks(/*ranks=*/2, /*kills=*/2, /*files=*/5, /*seed=*/3);
}

TEST_F(KafkaTest, AnotherNumberOfRanksGoesOn) {
  for (int64_t file = 0; file < 4; ++file) produce(file);
  produce_end("");
  const auto launch = [&](const char* ranks, const char* steps) {
    const ProgramResult result =
        millrace({"launch", "-n", ranks, "--", "train", "job.textproto", "--set",
                  "train.train_data.shuffle_rows=50", "--max_steps", steps});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  };
  launch("2", "3");
  launch("3", "0");
  EXPECT_EQ(trained("out"), produced(4));
}

TEST_F(KafkaTest, ABrokerThatIsAwayForAWhileDelaysTraining) {
  produce(0);
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("waiting since"));
  cluster_.set_down(1, true);
  ASSERT_TRUE(program.wait_for("waiting for Kafka: topic clicks"));
  cluster_.set_down(1, false);
  produce(1);
  ASSERT_TRUE(program.wait_for("step 8 "));
  program.send(SIGTERM);
  EXPECT_EQ(program.finish().exit_code, kRunAgain);
  EXPECT_EQ(trained("out"), produced(2));
}

TEST_F(KafkaTest, NamedErrors) {
  const auto fails = [&](const std::string& set, int code, const std::string& why) {
    const ProgramResult result = run({"--set", "train.train_data." + set});
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(why));
  };
  fails("windows.kafka={brokers: '127.0.0.1:1' topic: 'clicks' timeout_seconds: 1}", 74,
        "no broker answered for 1 s");
  fails("windows.kafka.option='no.such=1'", kUsage, "refuses no.such");
  fails("windows.kafka.option='enable.auto.commit=true'", kUsage, "remove it");
  fails("windows.kafka.topic='a b'", kUsage, "a topic has letters");
  fails("windows.rows=5", kUsage, "set kafka.records");
  fails("csv={}", kUsage, "csv.column");
  const ProgramResult moves = run({"--set", "run.window_io.move_done_to='done'"});
  EXPECT_EQ(moves.exit_code, kUsage);
  EXPECT_THAT(moves.err, HasSubstr("the data is a Kafka topic"));
  cluster_.produce("clicks", 0, "1,2,3,0");
  cluster_.produce("clicks", 0, "1,oops,3,1");
  cluster_.flush();
  fails("windows.idle_seconds=1", kBadData, "kafka://clicks/0/0-2, offset 1, column i1");
}

}  // namespace
}  // namespace millrace
