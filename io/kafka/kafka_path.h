// Names of ranges of offsets.
#ifndef MILLRACE_IO_KAFKA_KAFKA_PATH_H_
#define MILLRACE_IO_KAFKA_KAFKA_PATH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Offsets [begin, end) of a partition of a topic.
struct KafkaRange {
  std::string topic;
  int32_t partition = 0;
  int64_t begin = 0, end = 0;
};

// Returns "kafka://TOPIC/PARTITION/BEGIN-END".
std::string kafka_path(const KafkaRange& range);
// Returns the range that kafka_path() named. Errors: InvalidArgument.
absl::StatusOr<KafkaRange> parse_kafka_path(absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_IO_KAFKA_KAFKA_PATH_H_
