// A Kafka payload: records of Avro, in its binary encoding, without their schema.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "examples/own_job/own_job.pb.h"
#include "io/kafka/kafka_payload.h"

namespace millrace {
namespace {

constexpr double kExactFloats = 0x1p24;
constexpr int64_t kMaxValues = int64_t{1} << 32;  // of an array

// Reads values of a record; https://avro.apache.org/docs/1.12.0/specification/#binary-encoding.
class AvroCursor {
 public:
  explicit AvroCursor(absl::string_view rest) : rest_(rest) {}

  bool is_at_end() const { return rest_.empty(); }

  absl::StatusOr<absl::string_view> take(uint64_t bytes) {
    if (bytes > rest_.size()) return absl::DataLossError("the record ends early");
    const absl::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  // A number of seven bits a byte, the lowest first, whose lowest bit is the sign.
  absl::StatusOr<int64_t> take_long() {
    uint64_t zigzag = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      ASSIGN_OR_RETURN(const absl::string_view byte, take(1));
      zigzag |= static_cast<uint64_t>(byte[0] & 0x7f) << shift;
      if ((byte[0] & 0x80) == 0) return static_cast<int64_t>((zigzag >> 1) ^ (0 - (zigzag & 1)));
    }
    return absl::DataLossError("a number of more than ten bytes");
  }

  template <typename Number>
  absl::StatusOr<double> take_number() {
    ASSIGN_OR_RETURN(const absl::string_view bytes, take(sizeof(Number)));
    Number number = 0;
    std::memcpy(&number, bytes.data(), sizeof(number));  // little-endian, as is the host
    return number;
  }

  absl::StatusOr<absl::string_view> take_bytes() {
    ASSIGN_OR_RETURN(const int64_t size, take_long());
    if (size < 0) return absl::DataLossError("a text of a negative length");
    return take(static_cast<uint64_t>(size));
  }

 private:
  absl::string_view rest_;
};

// Appends a value to `column`; null: reads it only.
absl::Status read_value(AvroConfig::Type type, AvroCursor& record, Column* column) {
  if (type == AvroConfig::LONG) {
    ASSIGN_OR_RETURN(const int64_t value, record.take_long());
    if (column != nullptr) column->int64s.push_back(value);
  } else if (type == AvroConfig::STRING) {
    ASSIGN_OR_RETURN(const absl::string_view value, record.take_bytes());
    if (column != nullptr) column->strings.push_back(value);
  } else {
    const bool is_float = type == AvroConfig::FLOAT;
    ASSIGN_OR_RETURN(const double value,
                     is_float ? record.take_number<float>() : record.take_number<double>());
    if (column != nullptr) column->doubles.push_back(value);
  }
  return absl::OkStatus();
}

// Returns the number of values of a field: one, or of a nullable one none or one, or of an array.
absl::StatusOr<int64_t> read_field(const AvroConfig::Field& field, AvroCursor& record,
                                   Column* column) {
  if (field.nullable()) {
    ASSIGN_OR_RETURN(const int64_t branch, record.take_long());
    if (branch == 0) return 0;
    if (branch != 1) return absl::DataLossError("a union of more than two types");
  }
  if (!field.array()) {
    RETURN_IF_ERROR(read_value(field.type(), record, column));
    return 1;
  }
  int64_t values = 0;
  while (true) {  // blocks, up to an empty one
    ASSIGN_OR_RETURN(int64_t count, record.take_long());
    if (count == 0) return values;
    if (count < 0) {
      if (count < -kMaxValues) return absl::DataLossError("a block of too many values");
      RETURN_IF_ERROR(record.take_long().status());  // the bytes of the block
      count = -count;
    }
    for (int64_t i = 0; i < count; ++i, ++values) {
      RETURN_IF_ERROR(read_value(field.type(), record, column));
    }
  }
}

class AvroPayload : public KafkaPayload {
 public:
  explicit AvroPayload(AvroConfig config) : config_(std::move(config)) {}

  absl::StatusOr<std::vector<FileColumn>> columns(absl::Span<const absl::string_view>) override {
    std::vector<FileColumn> columns;
    for (const AvroConfig::Field& field : config_.field()) {
      FileColumn& column = columns.emplace_back();
      column.name = field.name();
      column.type = type_of(field);
      column.type_name = AvroConfig::Type_Name(field.type());
      if (field.type() == AvroConfig::FLOAT) column.exact_integers = kExactFloats;
    }
    return columns;
  }

  absl::StatusOr<KafkaRows> decode(absl::Span<const absl::string_view> values,
                                   absl::Span<const ColumnRequest> requests,
                                   const BadRecord& bad) override {
    std::vector<Column> fields(config_.field_size());  // of all fields, in their order
    for (int i = 0; i < config_.field_size(); ++i) {
      fields[i].type = type_of(config_.field(i));
      fields[i].offsets.push_back(0);
      if (config_.field(i).type() == AvroConfig::FLOAT) fields[i].exact_integers = kExactFloats;
    }
    KafkaRows rows;
    for (const absl::string_view value : values) {
      // The first look finds damage before anything is appended.
      const absl::Status status = read(value, nullptr);
      rows.records.push_back(status.ok() ? 1 : 0);
      if (status.ok()) {
        RETURN_IF_ERROR(read(value, &fields));
      } else {
        const auto record = static_cast<int64_t>(rows.records.size()) - 1;
        RETURN_IF_ERROR(bad(record, -1, status.message()));
      }
    }
    for (const ColumnRequest& request : requests) {
      rows.columns.push_back(std::move(fields[request.column]));
      simplify_offsets(rows.columns.back());
    }
    return rows;
  }

 private:
  static ValueType type_of(const AvroConfig::Field& field) {
    if (field.type() == AvroConfig::LONG) return ValueType::kInt64;
    return field.type() == AvroConfig::STRING ? ValueType::kString : ValueType::kDouble;
  }

  absl::Status read(absl::string_view value, std::vector<Column>* fields) const {
    AvroCursor record(value);
    RETURN_IF_ERROR(record.take(config_.skip_bytes()).status());
    for (int i = 0; i < config_.field_size(); ++i) {
      Column* const column = fields == nullptr ? nullptr : &(*fields)[i];
      const absl::StatusOr<int64_t> count = read_field(config_.field(i), record, column);
      RETURN_IF_ERROR(count.status(), absl::StrCat("field ", config_.field(i).name()));
      if (column == nullptr) continue;
      ++column->rows;
      column->offsets.push_back(column->offsets.back() + *count);
    }
    if (record.is_at_end()) return absl::OkStatus();
    return absl::DataLossError("there are bytes behind the last field");
  }

  const AvroConfig config_;
};

absl::StatusOr<std::unique_ptr<KafkaPayload>> make_avro(const CustomConfig& config,
                                                        const DataConfig&) {
  const AvroConfig& avro = config.GetExtension(millrace::avro);
  if (avro.field_size() == 0) return absl::InvalidArgumentError("avro.field is missing");
  return std::make_unique<AvroPayload>(avro);
}

MILLRACE_REGISTER_KAFKA_PAYLOAD(avro, "a record of Avro, without its schema", &make_avro);

}  // namespace
}  // namespace millrace
