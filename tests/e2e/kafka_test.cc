// Tests `millrace train` on a Kafka topic, with librdkafka's mock cluster in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "io/kafka/arrow_stream_testing.h"
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
  void replace_in_job(const std::string& from, const std::string& to) const {
    write("job.textproto", absl::StrReplaceAll(read("job.textproto"), {{from, to}}));
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

// Rows from files, and then records from where the side file says.
TEST_F(KafkaTest, FilesAndThenTheTopic) {
  const std::string offsets = R"({"topic": "clicks", "offsets": {"0": 200}})";
  write_job_on(absl::StrCat("path: 'incoming/*.csv' shuffle_rows: 300 format: CSV ",
                            "csv { column: ['label', 'i1', 'c1', 'id'] } ",
                            "windows { idle_seconds: 1 kafka { brokers: '", cluster_.brokers(),
                            "' topic: 'clicks' records: ", kRows,
                            " start_offsets: 'offsets.json' } }"));
  for (int64_t file = 0; file < 2; ++file) {
    std::string text;
    for (int64_t row = file * kRows; row < (file + 1) * kRows; ++row) text += line_of(row);
    write(absl::StrCat("incoming/", file, ".csv"), text);
  }
  for (int64_t file = 1; file < 4; ++file) produce(file);
  const ProgramResult early = run();
  EXPECT_EQ(early.exit_code, 66) << early.err;
  EXPECT_THAT(early.err, HasSubstr("windows.kafka.start_offsets"));
  EXPECT_EQ(newest_step("out"), 0) << "before the first step";
  for (const char* wrong : {R"({"offsets": {"7": 0}})", R"({"offsets": {"0": 4000}})"}) {
    write("offsets.json", wrong);
    const ProgramResult mistaken = run();
    EXPECT_EQ(mistaken.exit_code, kUsage) << mistaken.err;
    EXPECT_THAT(mistaken.err, HasSubstr("windows.kafka.start_offsets: "));
    EXPECT_EQ(newest_step("out"), 0) << "before the first step";
  }
  write("offsets.json", offsets);
  ASSERT_EQ(run({"--output_dir", "whole"}).exit_code, 0);
  EXPECT_EQ(trained("whole"), produced(4));
  const std::string content = content_of("whole");
  for (const int64_t step : {3, 7, 8, 9, 12}) {
    const std::string output = absl::StrCat("from-", step);
    write("offsets.json", offsets);
    ASSERT_EQ(run({"--output_dir", output, "--max_steps", absl::StrCat(step)}).exit_code, 0);
    write("offsets.json", "the checkpoint has the offsets");
    ASSERT_EQ(run({"--output_dir", output}).exit_code, 0);
    EXPECT_EQ(content_of(output), content) << "from step " << step;
  }
}

TEST_F(KafkaTest, RecordsOfArrowHoldRows) {
  write_job_on(absl::StrCat(
      "shuffle_rows: 30 bad_data: SKIP max_bad_fraction: 0.5 windows { idle_seconds: 1 kafka { "
      "brokers: '",
      cluster_.brokers(), "' topic: 'clicks' records: 20 rows_per_record: 10 group: 'trainers' ",
      "bad_records: 'bad.jsonl' payload { name: 'arrow' } } }"));
  replace_in_job("feature { name: \"i1\" kind: DENSE }",
                 "feature { name: \"i1\" kind: DENSE column: \"x\" }");
  replace_in_job("feature { name: \"c1\" }", "feature { name: \"c1\" column: \"ids\" }");
  std::map<int64_t, std::vector<int64_t>> rows;
  int64_t next = 0;
  for (int64_t record = 0; record < 40; ++record) {
    const int64_t count = record == 25 ? 0 : 1 + record % 10;
    cluster_.produce("clicks", 0, record == 25 ? "oops" : arrow_stream(next, count));
    for (int64_t i = 0; i < count; ++i) rows[record / 20].push_back(next + i);
    next += count;
  }
  cluster_.flush();
  const ProgramResult result = millrace({"launch", "-n", "2", "--", "train", "job.textproto"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(trained("out"), rows);
  EXPECT_EQ(cluster_.committed("trainers", "clicks", 0), 40);
  EXPECT_EQ(read_json_lines("bad.jsonl")[0]["offset"], 25);
  for (const auto& line : read_json_lines("out/metrics/train.jsonl")) {
    EXPECT_TRUE(line["values"].contains("kafka_lag_records")) << line;
  }
}

TEST_F(KafkaTest, RecordsOfAMegabyteAndOfNothing) {
  cluster_.create_topic("large", 2);
  const std::string tail = absl::StrCat(",3,", std::string(900000, ' '), "\n");
  replace_in_job("'clicks'", "'large'");
  replace_in_job("csv { column: ['label', 'i1', 'c1', 'id'] }",
                 "bad_data: SKIP max_bad_fraction: 1 "
                 "csv { column: ['label', 'i1', 'id', 'c1', 'more'] }");
  for (int64_t row = 0; row < 4; ++row) {
    cluster_.produce("large", static_cast<int32_t>(row % 2), absl::StrCat("1,2,", row, tail));
    cluster_.produce("large", static_cast<int32_t>(row % 2), "");
  }
  cluster_.flush();
  const ProgramResult result = run({"--set", "train.train_data.windows.idle_seconds=1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(trained("out")[0], (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_THAT(result.err, HasSubstr("kafka://large/1/0-4, offset 1: a record without a value"));
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
  fails("windows.kafka.brokers='a:1,b'", kUsage, "brokers has \"b\"; write HOST:PORT");
  fails("csv={}", kUsage, "csv.column of the data");
  fails("path='a.csv'", kUsage, "need kafka.start_offsets");
  fails("format=PARQUET", kUsage, "set kafka.payload");
  fails("windows.kafka.payload={name: 'arow'}", kUsage, "arrow");
  fails("windows.kafka.rows_per_record=2", kUsage, "a record of csv is one row");
  fails("windows.kafka={brokers: 'a:1' topic: 't' start: LATEST start_offsets: 'x'}", kUsage,
        "set one of them");
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
