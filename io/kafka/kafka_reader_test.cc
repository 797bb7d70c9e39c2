// Reads ranges of offsets of librdkafka's mock cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "io/file_reader.h"
#include "io/files/uri_file_system.h"
#include "io/kafka/arrow_stream_testing.h"
#include "io/kafka/kafka_cluster_testing.h"
#include "io/kafka/kafka_topic.h"
#include "proto/config.pb.h"
#include "proto/tf_example.pb.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KafkaReaderTest : public testing::Test {
 protected:
  KafkaReaderTest() {
    cluster_.create_topic("t", 2);
    KafkaWindows& topic = *data_.mutable_custom_format()->MutableExtension(kafka);
    data_.mutable_custom_format()->set_name("kafka");
    topic.set_brokers(cluster_.brokers());
    topic.set_topic("t");
    topic.set_timeout_seconds(30);
    data_.mutable_csv()->add_column("label");
    data_.mutable_csv()->add_column("x");
  }
  KafkaWindows& topic() { return *data_.mutable_custom_format()->MutableExtension(kafka); }

  void produce(const std::vector<std::string>& values, int partition = 0) {
    for (const std::string& value : values) {
      cluster_.produce("t", partition, value, absl::StrCat("k", value), 1700000000000);
    }
    cluster_.flush();
  }
  // Reads rows [begin, begin + count) of a path: label, x as numbers, then the other columns.
  absl::StatusOr<std::vector<Column>> read(const std::string& path, int64_t begin, int64_t count,
                                           BadRows& bad) {
    auto file = open_file(UriFileSystem::process(), path, data_);
    EXPECT_OK(file.status());
    std::vector<ColumnRequest> requests = {{0, ValueType::kInt64}, {1, ValueType::kDouble}};
    for (int64_t i = 2; i < 6; ++i) requests.push_back({i, (*file)->columns()[i].type});
    return (*file)->read({0, begin, count}, requests, bad);
  }

  KafkaCluster cluster_;
  DataConfig data_;
};

TEST_F(KafkaReaderTest, ARecordIsARow) {
  produce({"9,9"}, 0);
  produce({"0,0.5", "1,1.5\n", "0,2.5\r\n", "1,\"3.5\"", "0,"}, 1);
  ASSERT_OK_AND_ASSIGN(const auto file,
                       open_file(UriFileSystem::process(), "kafka://t/1/1-5", data_));
  EXPECT_THAT(file->group_rows(), ElementsAre(4));
  BadRows bad(3, /*skip=*/false);
  ASSERT_OK_AND_ASSIGN(const auto columns, read("kafka://t/1/1-5", 1, 3, bad));
  EXPECT_THAT(columns[0].int64s, ElementsAre(0, 1, 0));
  EXPECT_THAT(columns[1].doubles, ElementsAre(2.5, 3.5));
  EXPECT_EQ(columns[1].end(2) - columns[1].begin(2), 0) << "a missing value";
  EXPECT_EQ(columns[2].strings[0], "k0,2.5\r\n");
  EXPECT_THAT(columns[3].int64s, ElementsAre(1700000000000, 1700000000000, 1700000000000));
  EXPECT_THAT(columns[4].int64s, ElementsAre(2, 3, 4));
  EXPECT_THAT(columns[5].int64s, ElementsAre(1, 1, 1));
}

TEST_F(KafkaReaderTest, BadRecordsAreNamedByOffset) {
  const struct {
    const char* value;
    const char* why;
  } cases[] = {{"0,x", "column x: "},
               {"", "a record without a value"},
               {"\r", "a record without a value"},
               {"0,1\n1,2", "a record of several lines"},
               {"0,\"1", "a quoted cell that does not end"},
               {"0", "cells"},
               {"0,1,2", "cells"}};
  int64_t offset = 0;
  for (const auto& [value, why] : cases) {
    produce({"1,1", value, "0,2"});
    const std::string path = absl::StrCat("kafka://t/0/", offset, "-", offset + 3);
    BadRows strict(3, /*skip=*/false);
    EXPECT_THAT(
        read(path, 0, 3, strict).status(),
        StatusIs(absl::StatusCode::kDataLoss,
                 AllOf(HasSubstr(absl::StrCat(path, ", offset ", offset + 1)), HasSubstr(why))));
    BadRows skip(3, /*skip=*/true);
    ASSERT_OK_AND_ASSIGN(const auto columns, read(path, 0, 3, skip));
    EXPECT_EQ(skip.count(), 1) << value;
    EXPECT_TRUE(skip.contains(1)) << value;
    EXPECT_EQ(columns[0].int64s[columns[0].begin(0)], 1);
    EXPECT_EQ(columns[0].int64s[columns[0].begin(2)], 0);
    offset += 3;
  }
}

TEST_F(KafkaReaderTest, ARecordIsATfExample) {
  data_.set_format(DataConfig::TFRECORD);
  for (const char* name : {"label", "x"}) data_.mutable_tfrecord()->add_column()->set_name(name);
  data_.mutable_tfrecord()->mutable_column(1)->set_type(TfRecordConfig::FLOAT);
  const auto example = [](int64_t label, std::vector<float> x) {
    TfExample example;
    auto& features = *example.mutable_features()->mutable_feature();
    features["label"].mutable_int64_list()->add_value(label);
    for (const float value : x) features["x"].mutable_float_list()->add_value(value);
    return example.SerializeAsString();
  };
  produce({example(1, {2, 3}), example(0, {}), "\n!", "", example(1, {4})});
  const std::string path = "kafka://t/0/0-5";
  BadRows bad(5, /*skip=*/true);
  ASSERT_OK_AND_ASSIGN(const auto columns, read(path, 0, 5, bad));
  EXPECT_EQ(bad.count(), 2);
  EXPECT_TRUE(bad.contains(2) && bad.contains(3));
  EXPECT_EQ(columns[0].int64s[0], 1);
  EXPECT_EQ(columns[1].end(0) - columns[1].begin(0), 2);
  EXPECT_EQ(columns[1].end(1) - columns[1].begin(1), 0);
  EXPECT_EQ(columns[1].doubles[columns[1].begin(4)], 4);
  BadRows strict(3, /*skip=*/false);
  EXPECT_THAT(
      read(path, 0, 3, strict).status(),
      StatusIs(absl::StatusCode::kDataLoss, path + ", offset 2: the bytes are no tf.Example"));
}

// The mock cluster drops the oldest records of a partition beyond 5 MB.
TEST_F(KafkaReaderTest, RecordsThatAreGone) {
  const std::string large = absl::StrCat("1,\"", std::string(100000, ' '), "1\"");
  for (int i = 0; i < 100; ++i) cluster_.produce("t", 0, large);
  cluster_.flush();
  BadRows strict(100, /*skip=*/false);
  EXPECT_THAT(read("kafka://t/0/0-100", 0, 100, strict).status(),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr("partition 0: offset 0 is not there: the brokers have "),
                             HasSubstr("to 100 (windows.kafka.missing: FAIL)"))));
  topic().set_missing(KafkaWindows::SKIP);
  BadRows bad(100, /*skip=*/false);
  ASSERT_OK(read("kafka://t/0/0-100", 0, 100, bad).status());
  EXPECT_GT(bad.omitted(), 0);
  EXPECT_LT(bad.omitted(), 100);
  EXPECT_TRUE(bad.is_omitted(0));
  EXPECT_FALSE(bad.is_omitted(99));
  EXPECT_EQ(bad.count(), 0);
}

TEST_F(KafkaReaderTest, ABrokerThatIsDown) {
  produce({"0,0", "1,1"});
  cluster_.set_down(1, true);
  topic().set_timeout_seconds(1);
  BadRows bad(2, /*skip=*/true);
  EXPECT_THAT(read("kafka://t/0/0-2", 0, 2, bad).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no broker answered for 1 s")));
  cluster_.set_down(1, false);
  ASSERT_OK_AND_ASSIGN(const auto columns, read("kafka://t/0/0-2", 0, 2, bad));
  EXPECT_THAT(columns[0].int64s, ElementsAre(0, 1));
}

// A leader that moves, and errors that pass.
TEST_F(KafkaReaderTest, ReadsOnThroughErrors) {
  produce({"0,0", "1,1"});
  rd_kafka_mock_push_request_errors(
      cluster_.mock(), 1 /*Fetch*/, 3, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
      RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
  BadRows bad(2, /*skip=*/false);
  ASSERT_OK_AND_ASSIGN(const auto columns, read("kafka://t/0/0-2", 0, 2, bad));
  EXPECT_THAT(columns[0].int64s, ElementsAre(0, 1));
}

// Offsets 0 to 5 hold rows 0-2, 3-4, nothing readable, 5-9 (too many), 10-12 and 13.
class KafkaArrowTest : public KafkaReaderTest {
 protected:
  KafkaArrowTest() {
    topic().mutable_payload()->set_name("arrow");
    topic().set_rows_per_record(3);
    FileSystem::local().remove(path_).IgnoreError();
    topic().set_bad_records(path_);
    const auto produce_rows = [&](int64_t first, int64_t rows) {
      cluster_.produce("t", 0, arrow_stream(first, rows), absl::StrCat("k", first));
    };
    produce_rows(0, 3);
    produce_rows(3, 2);
    cluster_.produce("t", 0, "oops", "bad");
    produce_rows(5, 5);
    produce_rows(10, 3);
    produce_rows(13, 1);
    cluster_.flush();
  }

  const std::string path_ = testing::TempDir() + "/bad.jsonl";
};

TEST_F(KafkaArrowTest, ARecordHasPlacesForItsRows) {
  ASSERT_OK_AND_ASSIGN(const auto file,
                       open_file(UriFileSystem::process(), "kafka://t/0/0-6", data_));
  ASSERT_EQ(file->columns().size(), 8u);
  EXPECT_EQ(file->columns()[2].name, "ids");
  EXPECT_THAT(file->group_rows(), ElementsAre(18));
  const std::vector<ColumnRequest> requests = {
      {1, ValueType::kDouble}, {6, ValueType::kInt64}, {4, ValueType::kString}};
  // Any range gives its part of the same rows, and no row or bad record twice.
  for (const int64_t step : {18, 7, 3, 2, 1}) {
    std::vector<double> x;
    std::vector<std::string> places;
    int64_t bad_records = 0;
    for (int64_t begin = 0; begin < 18; begin += step) {
      const int64_t count = std::min(step, 18 - begin);
      BadRows bad(count, /*skip=*/true);
      ASSERT_OK_AND_ASSIGN(const auto columns, file->read({0, begin, count}, requests, bad));
      bad_records += bad.count();
      for (int64_t row = 0; row < count; ++row) {
        EXPECT_EQ(file->row_lines()[row], (begin + row) / 3);
        if (bad.contains(row)) continue;
        x.push_back(columns[0].doubles[columns[0].begin(row)]);
        places.push_back(absl::StrCat(columns[1].int64s[row], columns[2].strings[row]));
      }
    }
    EXPECT_THAT(x, ElementsAre(0, .5, 1, 1.5, 2, 5, 5.5, 6, 6.5)) << step;
    EXPECT_THAT(places,
                ElementsAre("0k0", "0k0", "0k0", "1k3", "1k3", "4k10", "4k10", "4k10", "5k13"));
    EXPECT_EQ(bad_records, 6) << step << ": all places of two records";
  }
}

TEST_F(KafkaArrowTest, BadRecordsAreKept) {
  ASSERT_OK_AND_ASSIGN(const auto file,
                       open_file(UriFileSystem::process(), "kafka://t/0/0-6", data_));
  BadRows bad(18, /*skip=*/true);
  ASSERT_OK(file->read({0, 0, 18}, {{1, ValueType::kDouble}}, bad).status());
  // A feature reports values that it refuses.
  for (const char* why : {"column x: 7 is too large", "column x: so is 8"}) {
    ASSERT_OK(bad.add(1, absl::DataLossError(absl::StrCat(file->path(), ", offset 0, ", why))));
  }
  ASSERT_OK_AND_ASSIGN(const std::string kept, read_file(FileSystem::local(), path_));
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 3) << kept;
  EXPECT_THAT(kept, HasSubstr(R"("offset":0)"));
  EXPECT_THAT(kept, HasSubstr(R"("why":"column x: 7 is too large","key_base64":"azA=")"));
  EXPECT_THAT(kept, HasSubstr(R"({"topic":"t","partition":0,"offset":2,"time_ms":)"));
  EXPECT_THAT(kept, HasSubstr(R"("key_base64":"YmFk","value_base64":"b29wcw=="})"));
  EXPECT_THAT(kept, HasSubstr("a record of more than 3 rows (windows.kafka.rows_per_record)"));
  BadRows strict(3, /*skip=*/false);
  EXPECT_THAT(file->read({0, 6, 3}, {{1, ValueType::kDouble}}, strict).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("kafka://t/0/0-6, offset 2: no Arrow IPC stream")));
}

TEST_F(KafkaArrowTest, ColumnsAreOfTheFirstRecordThatCanBeRead) {
  ASSERT_OK_AND_ASSIGN(const auto file,
                       open_file(UriFileSystem::process(), "kafka://t/0/2-4", data_));
  EXPECT_EQ(file->columns()[1].name, "x");
  // A range without such a record has the columns of others.
  ASSERT_OK(open_file(UriFileSystem::process(), "kafka://t/0/2-3", data_).status());
  topic().set_topic("u");
  cluster_.create_topic("u", 2);
  cluster_.produce("u", 0, "oops");
  cluster_.flush();
  EXPECT_THAT(open_file(UriFileSystem::process(), "kafka://u/0/0-1", data_).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("kafka://u/0/0-1: no record tells its columns: ")));
}

TEST_F(KafkaReaderTest, OwnColumnsCannotBeTaken) {
  data_.mutable_csv()->add_column("kafka_key");
  EXPECT_THAT(open_file(UriFileSystem::process(), "kafka://t/0/0-2", data_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kafka_key")));
}

}  // namespace
}  // namespace millrace
