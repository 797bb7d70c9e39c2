#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "examples/own_job/own_job.pb.h"
#include "io/kafka/kafka_payload.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

TEST(AvroPayloadTest, DecodesFields) {
  CustomConfig config;
  config.set_name("avro");
  AvroConfig& avro = *config.MutableExtension(millrace::avro);
  avro.set_skip_bytes(5);
  const auto add = [&](const char* name, AvroConfig::Type type) {
    AvroConfig::Field& field = *avro.add_field();
    field.set_name(name);
    field.set_type(type);
    return &field;
  };
  add("click", AvroConfig::LONG);
  add("price", AvroConfig::FLOAT)->set_nullable(true);
  add("items", AvroConfig::LONG)->set_array(true);
  add("city", AvroConfig::STRING);
  ASSERT_OK_AND_ASSIGN(const auto payload, kafka_payload_registry().create(config, DataConfig()));
  ASSERT_OK_AND_ASSIGN(const auto columns, payload->columns({}));
  ASSERT_EQ(columns.size(), 4u);

  const std::string id("\0\0\0\0\x07", 5);
  // click -1; price 1.5; items 64, then a block of two in two bytes with its size; city "Ulm".
  const std::string full =
      id + std::string("\x01\x02\0\0\xc0\x3f\x02\x80\x01\x03\x04\x04\x06\0\x06Ulm", 18);
  const std::string sparse = id + std::string("\x02\0\0\0", 4);  // 1, null, none, ""
  const std::vector<absl::string_view> values = {full, absl::string_view(full).substr(0, 18),
                                                 sparse, "", sparse};
  std::vector<std::string> bad;
  ASSERT_OK_AND_ASSIGN(const KafkaRows rows,
                       payload->decode(values,
                                       {{3, ValueType::kString},
                                        {0, ValueType::kInt64},
                                        {1, ValueType::kDouble},
                                        {2, ValueType::kInt64}},
                                       [&](int64_t record, int64_t, absl::string_view why) {
                                         bad.push_back(absl::StrCat(record, ": ", why));
                                         return absl::OkStatus();
                                       }));
  EXPECT_THAT(rows.records, ElementsAre(1, 0, 1, 0, 1));
  EXPECT_EQ(rows.columns[0].strings[0], "Ulm");
  EXPECT_THAT(rows.columns[1].int64s, ElementsAre(-1, 1, 1));
  EXPECT_THAT(rows.columns[2].doubles, ElementsAre(1.5));
  EXPECT_THAT(rows.columns[3].int64s, ElementsAre(64, 2, 3));
  EXPECT_THAT(rows.columns[3].offsets, ElementsAre(0, 3, 3, 3));
  EXPECT_THAT(bad,
              ElementsAre("1: field items: the record ends early", "3: the record ends early"));
}

}  // namespace
}  // namespace millrace
