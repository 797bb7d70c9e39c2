#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "examples/own_job/own_job.pb.h"
#include "io/kafka/kafka_payload.h"
#include "io/kafka/kafka_payload_conformance.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

// Returns a payload for a click, a price that may be missing, items and a city.
std::unique_ptr<KafkaPayload> make_avro() {
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
  return kafka_payload_registry().create(config, DataConfig()).value();
}

// The id of a schema.
const std::string& id() {
  static const auto* const id = new std::string("\0\0\0\0\x07", 5);
  return *id;
}

// A click of -1, a price of 1.5, items 64, then a block of two in two bytes with its size, and
// "Ulm".
std::string full_record() {
  return id() + std::string("\x01\x02\0\0\xc0\x3f\x02\x80\x01\x03\x04\x04\x06\0\x06Ulm", 18);
}

// A click of 1, no price, no items, and "".
std::string sparse_record() { return id() + std::string("\x02\0\0\0", 4); }

[[maybe_unused]] const bool kAvro = register_kafka_payload_conformance(
    "Avro", {.make = make_avro,
             .good = {full_record(), sparse_record()},
             .bad = {"", full_record().substr(0, 18), sparse_record() + "x"}});

TEST(AvroPayloadTest, DecodesFields) {
  const std::unique_ptr<KafkaPayload> payload = make_avro();
  ASSERT_OK_AND_ASSIGN(const auto columns, payload->columns({}));
  ASSERT_EQ(columns.size(), 4u);

  const std::string full = full_record(), sparse = sparse_record();
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
