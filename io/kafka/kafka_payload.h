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
  std::vector<Column> columns;   // one for each request; the rows of one record after another
  std::vector<int64_t> records;  // the number of rows of each record; 0: it is bad
};

// Receives a row that is bad, counted from 0 in its record, or a whole record (row 0, and the
// record has no rows), and why: ": it has no value", ", column x: \"y\" is no number". Returns the
// error if bad rows are not skipped.
using BadRecord = std::function<absl::Status(int64_t record, int64_t row, absl::string_view why)>;

// A decoder, used by one thread at a time.
class KafkaPayload {
 public:
  virtual ~KafkaPayload() = default;

  // Returns true if the columns are in the records. Default: false.
  virtual bool describes_itself() const { return false; }
  // Returns the columns. `record`: the value of a record, or "" unless describes_itself(). Errors:
  // DataLoss if the value is bad.
  virtual absl::StatusOr<std::vector<FileColumn>> columns(absl::string_view record) = 0;
  // Decodes the requested columns of `values`, one for each record. REQUIRES: columns() gave what
  // `requests` count in. Errors: those of `bad`.
  virtual absl::StatusOr<KafkaRows> decode(absl::Span<const absl::string_view> values,
                                           absl::Span<const ColumnRequest> requests,
                                           const BadRecord& bad) = 0;
};

// Makes a decoder for windows.kafka.payload; `data` has the settings of formats.
using KafkaPayloadFactory = std::function<absl::StatusOr<std::unique_ptr<KafkaPayload>>(
    const CustomConfig& config, const DataConfig& data)>;

// Has csv and tf_example; //io/kafka:arrow_payload adds arrow.
CustomRegistry<KafkaPayloadFactory>& kafka_payload_registry();

// Returns windows.kafka.payload, or what stands for it where it is not given.
CustomConfig kafka_payload_of(const KafkaWindows& kafka, const DataConfig& data);

}  // namespace millrace

// Use at namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_KAFKA_PAYLOAD(avro, "a record of Avro, without its schema",
//   &AvroPayload::create);
#define MILLRACE_REGISTER_KAFKA_PAYLOAD(name, description, factory) \
  MILLRACE_REGISTER_PART(kafka_payload, name, #name, description, factory)

#endif  // MILLRACE_IO_KAFKA_KAFKA_PAYLOAD_H_
