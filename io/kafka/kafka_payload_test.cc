#include "io/kafka/kafka_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/kafka/arrow_stream_testing.h"
#include "io/kafka/kafka_payload_conformance.h"
#include "proto/tf_example.pb.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<KafkaPayload> payload_of(const std::string& name) {
  DataConfig data;
  data.mutable_custom_format()->MutableExtension(kafka)->set_rows_per_record(3);
  for (const char* column : {"x", "y"}) {
    data.mutable_csv()->add_column(column);
    data.mutable_tfrecord()->add_column()->set_name(column);
  }
  CustomConfig config;
  config.set_name(name);
  auto payload = kafka_payload_registry().create(config, data);
  EXPECT_OK(payload.status());
  return *std::move(payload);
}

struct Decoded {
  KafkaRows rows;
  std::vector<std::string> bad;  // RECORD/ROW WHY
};

absl::StatusOr<Decoded> decode(KafkaPayload& payload, const std::vector<absl::string_view>& values,
                               const std::vector<ColumnRequest>& requests) {
  Decoded decoded;
  const auto bad = [&](int64_t record, int64_t row, absl::string_view why) {
    decoded.bad.push_back(absl::StrCat(record, "/", row, ": ", why));
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(decoded.rows, payload.decode(values, requests, bad));
  return decoded;
}

[[maybe_unused]] const bool kCsv =
    register_kafka_payload_conformance("Csv", {.make = [] { return payload_of("csv"); },
                                               .good = {"1,a", "2,b\r\n", "3,\"c,d\""},
                                               .bad = {"", "1", "1,2,3", "1,\"2", "1,2\n3,4"}});

std::string example_of(int64_t x) {
  TfExample example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["x"].mutable_int64_list()->add_value(x);
  features["y"].mutable_int64_list()->add_value(x + 1);
  return example.SerializeAsString();
}

[[maybe_unused]] const bool kExample = register_kafka_payload_conformance(
    "TfExample", {.make = [] { return payload_of("tf_example"); },
                  .good = {example_of(1), example_of(2)},
                  .bad = {"", "\n!"}});

[[maybe_unused]] const bool kArrow = register_kafka_payload_conformance(
    "Arrow", {.make = [] { return payload_of("arrow"); },
              .good = {arrow_stream(0, 3), arrow_stream(3, 1), arrow_stream(4, 2)},
              .bad = {"", "stream?", arrow_stream(0, 4), arrow_stream(0, 2).substr(0, 300)}});

TEST(KafkaPayloadConformanceTest, ABrokenPromiseFails) {
  const auto make = [] { return payload_of("csv"); };
  const auto fails = [](const KafkaPayloadConformance& c) {
    return failing_properties(kafka_payload_properties(c));
  };
  EXPECT_THAT(fails({.make = make, .good = {"1,a", "2,b"}, .bad = {"1"}}), IsEmpty());
  EXPECT_THAT(fails({.make = make, .good = {"1,a", "1,a"}, .bad = {"1"}}),
              ElementsAre("DecodesValuesTogetherAsAlone"));
  EXPECT_THAT(fails({.make = make, .good = {"1,a", "2,b"}, .bad = {"3,c"}}),
              ElementsAre("ReportsBadValues"));
}

TEST(KafkaPayloadTest, ArrowRecordsHoldRows) {
  const auto payload = payload_of("arrow");
  const std::string sample = arrow_stream(0, 1);
  ASSERT_OK_AND_ASSIGN(const auto columns, payload->columns({sample}));
  ASSERT_EQ(columns.size(), 4u);
  EXPECT_EQ(columns[1].name, "x");
  EXPECT_EQ(columns[1].type, ValueType::kDouble);
  const std::string one = arrow_stream(4, 3), two = arrow_stream(7, 1);
  const std::string cut = two.substr(0, 400), four = arrow_stream(0, 4);
  const std::string other = arrow_stream(7, 1, /*other_type=*/true), none = arrow_stream(0, 0);
  ASSERT_OK_AND_ASSIGN(const Decoded all,
                       decode(*payload, {one, "", other, none, "stream?", cut, two, four},
                              {{2, ValueType::kInt64}, {1, ValueType::kDouble}}));
  EXPECT_THAT(all.rows.records, ElementsAre(3, 0, 0, 0, 0, 0, 1, 0));
  EXPECT_THAT(all.rows.columns[0].int64s, ElementsAre(4, 5, 5, 7));
  EXPECT_THAT(all.rows.columns[0].offsets, ElementsAre(0, 1, 3, 3, 4));
  EXPECT_THAT(all.rows.columns[1].doubles, ElementsAre(2, 2.5, 3, 3.5));
  EXPECT_THAT(
      all.bad,
      ElementsAre("1/-1: a record without a value",
                  "2/-1: column x is of type int32, that of an earlier record of type double",
                  HasSubstr("4/-1: no Arrow IPC stream: "),
                  HasSubstr("5/-1: no Arrow IPC stream: "),
                  "7/-1: a record of more than 3 rows (windows.kafka.rows_per_record)"));
  ASSERT_OK_AND_ASSIGN(const Decoded empty, decode(*payload, {one, two}, {}));
  EXPECT_THAT(empty.rows.records, ElementsAre(3, 1)) << "rows are counted without columns";
}

// Several records tell the columns of a topic: the first one may lack some, or values.
TEST(KafkaPayloadTest, ArrowColumnsAreThoseOfSeveralRecords) {
  const auto payload = payload_of("arrow");
  const std::string full = arrow_stream(0, 1), other = arrow_stream(0, 1, /*other_type=*/true);
  ASSERT_OK_AND_ASSIGN(const auto columns, payload->columns({"?", full, other}));
  ASSERT_EQ(columns.size(), 4u);
  EXPECT_EQ(columns[1].type, ValueType::kDouble);
  EXPECT_THAT(payload->columns({"?", ""}).status(), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(KafkaPayloadTest, EachBadRecordOfTextHasItsReason) {
  const auto payload = payload_of("csv");
  ASSERT_OK(payload->columns({}).status());
  ASSERT_OK_AND_ASSIGN(const Decoded decoded,
                       decode(*payload, {"a,1", "1", "b,2", "3,4"}, {{0, ValueType::kInt64}}));
  EXPECT_THAT(decoded.bad, ElementsAre(HasSubstr("0/0: column x: "), HasSubstr("1/0: "),
                                       HasSubstr("2/0: column x: ")));
  EXPECT_THAT(decoded.bad[1], HasSubstr("cells"));
  EXPECT_THAT(decoded.bad[2], HasSubstr("b"));
}

// A bad record changes no other record; text that is taken is one row.
// MILLRACE_FUZZED_RECORDS=1000000: the number of random records.
TEST(KafkaPayloadTest, RandomRecords) {
  const char* const asked = std::getenv("MILLRACE_FUZZED_RECORDS");
  const int64_t count = asked == nullptr ? 5000 : std::stoll(asked);
  std::minstd_rand random(1);
  const std::string pieces = "\"\"\"\",,\n\r0a \x0a\x08\x12\x01\xff";
  const std::string batch = arrow_stream(14, 2);  // x is 7, 7.5
  for (int64_t i = 0; i < count; ++i) {
    const char* const name = i % 4 == 0 ? "tf_example" : (i % 4 == 1 ? "arrow" : "csv");
    const auto payload = payload_of(name);
    const bool is_arrow = i % 4 == 1, is_example = i % 4 == 0;
    std::string value;
    if (is_arrow) {
      value = batch.substr(0, random() % 3 == 0 ? random() % batch.size() : batch.size());
      for (int flips = random() % 4; flips > 0 && !value.empty(); --flips) {
        value[random() % value.size()] = static_cast<char>(random());
      }
    } else {
      for (size_t size = random() % 12; value.size() < size;) {
        value.push_back(pieces[random() % pieces.size()]);
      }
    }
    const std::string good = is_arrow ? batch : "7,8";
    ASSERT_OK(payload->columns({good}).status());
    const std::vector<ColumnRequest> requests =
        is_arrow ? std::vector<ColumnRequest>{{1, ValueType::kDouble}, {2, ValueType::kInt64}}
                 : std::vector<ColumnRequest>{{0, ValueType::kInt64}};
    const auto decoded = decode(*payload, {good, value, good}, requests);
    ASSERT_OK(decoded.status()) << absl::CHexEscape(value);
    const std::vector<int64_t>& records = decoded->rows.records;
    const Column& x = decoded->rows.columns.front();
    ASSERT_EQ(records.size(), 3u);
    ASSERT_EQ(x.rows, records[0] + records[1] + records[2]) << absl::CHexEscape(value);
    if (is_example) continue;
    ASSERT_EQ(records[0], is_arrow ? 2 : 1);
    ASSERT_EQ(records[2], records[0]);
    ASSERT_LE(records[1], is_arrow ? 1000000 : 1) << absl::CHexEscape(value);
    const int64_t last = x.begin(records[0] + records[1]);
    ASSERT_EQ(is_arrow ? x.doubles[last] : static_cast<double>(x.int64s[last]), 7)
        << absl::CHexEscape(value);
  }
}

}  // namespace
}  // namespace millrace
