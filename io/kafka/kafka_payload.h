// Decoders of the values of Kafka records.
#ifndef MILLRACE_IO_KAFKA_KAFKA_PAYLOAD_H_
#define MILLRACE_IO_KAFKA_KAFKA_PAYLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/column.h"
#include "io/file_reader.h"
#include "proto/config.pb.h"
#include "proto/parts/custom_registry.h"

namespace millrace {

// The rows of some records.
struct KafkaRows {
  // One for each request, of the type read_type(request.as); the rows of one record after another.
  std::vector<Column> columns;
  // The number of rows of each record, at most windows.kafka.rows_per_record; 0 of a bad one.
  std::vector<int64_t> records;
};

// Receives a bad row, counted from 0 in its record, or a bad record (row -1), and the reason: "it
// has no value", "column x: \"y\" is no number". Returns the error if bad rows are not skipped.
using BadRecord = std::function<absl::Status(int64_t record, int64_t row, absl::string_view why)>;

// A decoder, used by one thread at a time.
class KafkaPayload {
 public:
  virtual ~KafkaPayload() = default;

  // Returns true if columns() needs records. Default: false.
  virtual bool describes_itself() const { return false; }
  // Returns the columns. `records`: values of some records, none unless describes_itself(); bad
  // ones do not matter. Errors: DataLoss if all are bad.
  virtual absl::StatusOr<std::vector<FileColumn>> columns(
      absl::Span<const absl::string_view> records) = 0;
  // Decodes the requested columns of `values`, one for each record. REQUIRES: `requests` index the
  // result of the last columns(). Errors: the errors of `bad`.
  virtual absl::StatusOr<KafkaRows> decode(absl::Span<const absl::string_view> values,
                                           absl::Span<const ColumnRequest> requests,
                                           const BadRecord& bad) = 0;
};

// Makes a decoder for windows.kafka.payload. `data`: the settings of formats; its custom_format has
// the windows.kafka, except in a check of the configuration. Errors: InvalidArgument for settings
// that the decoder cannot use.
using KafkaPayloadFactory = std::function<absl::StatusOr<std::unique_ptr<KafkaPayload>>(
    const CustomConfig& config, const DataConfig& data)>;

// Returns the registry, with csv and tf_example; //io/kafka:arrow_payload adds arrow.
CustomRegistry<KafkaPayloadFactory>& kafka_payload_registry();

// Returns windows.kafka.payload or, if it is not set, the one that follows from `data`.
CustomConfig kafka_payload_of(const KafkaWindows& kafka, const DataConfig& data);

}  // namespace millrace

// Use at namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_KAFKA_PAYLOAD(avro, "a record of Avro, without its schema",
//   &AvroPayload::create);
#define MILLRACE_REGISTER_KAFKA_PAYLOAD(name, description, factory) \
  MILLRACE_REGISTER_PART(kafka_payload, name, #name, description, factory)

#endif  // MILLRACE_IO_KAFKA_KAFKA_PAYLOAD_H_
