// The values of Kafka records as rows.
#ifndef MILLRACE_IO_KAFKA_KAFKA_PAYLOAD_H_
#define MILLRACE_IO_KAFKA_KAFKA_PAYLOAD_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "io/file_reader.h"
#include "proto/config.pb.h"

namespace millrace {

// A format of a file of rows of which each record holds one. Records become such a file, in memory.
class KafkaPayload {
 public:
  // DataConfig.format: TFRECORD is a tf.Example, all else a line of delimited text.
  static std::unique_ptr<KafkaPayload> create(const DataConfig& config);
  virtual ~KafkaPayload() = default;

  // Returns what is wrong with a value that would not become one row of the file; "": nothing.
  virtual absl::string_view error(absl::string_view value) const = 0;
  // Appends the row of a value. REQUIRES: error() is "".
  virtual void append(absl::string_view value, std::string* file) const = 0;
  // Returns a value without values in any column.
  virtual std::string blank() const = 0;
  // Opens the file. Errors: as FileOpener. Columns do not depend on the content.
  virtual absl::StatusOr<std::unique_ptr<FileReader>> open(FileSystem& files,
                                                           const std::string& path) const = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_KAFKA_KAFKA_PAYLOAD_H_
