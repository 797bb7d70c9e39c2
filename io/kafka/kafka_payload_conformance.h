// The promises of every Kafka payload.
#ifndef MILLRACE_IO_KAFKA_KAFKA_PAYLOAD_CONFORMANCE_H_
#define MILLRACE_IO_KAFKA_KAFKA_PAYLOAD_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "io/kafka/kafka_payload.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

struct KafkaPayloadConformance {
  std::function<std::unique_ptr<KafkaPayload>()> make;  // a new payload at each call
  std::vector<std::string> good;                        // at least two values, with different rows
  std::vector<std::string> bad;                         // values that are no record of the payload
};

// Returns the promises of KafkaPayload: columns() has unique names, repeats itself, and passes over
// bad records; decode() gives one column for each request, in its type, in any order and subset;
// values together have the rows of each value alone; without requests rows are counted; a bad value
// is reported once, as a row or as a record without rows, and changes no other value; an error of
// `bad` ends decode().
std::vector<Property> kafka_payload_properties(const KafkaPayloadConformance& conformance);

// Registers them as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kAvro = register_kafka_payload_conformance(
//       "Avro", {.make = make_avro, .good = {one, two}, .bad = {"", "?"}});
bool register_kafka_payload_conformance(
    const std::string& suite, const KafkaPayloadConformance& conformance,
    std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_IO_KAFKA_KAFKA_PAYLOAD_CONFORMANCE_H_
