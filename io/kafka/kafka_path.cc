#include "io/kafka/kafka_path.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

constexpr absl::string_view kScheme = "kafka://";

}  // namespace

std::string kafka_path(const KafkaRange& range) {
  return absl::StrCat(kScheme, range.topic, "/", range.partition, "/", range.begin, "-", range.end);
}

absl::StatusOr<KafkaRange> parse_kafka_path(absl::string_view path) {
  absl::string_view rest = path;
  KafkaRange range;
  const bool has_scheme = absl::ConsumePrefix(&rest, kScheme);
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '/');
  if (has_scheme && parts.size() == 3) {
    range.topic = std::string(parts[0]);
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(parts[2], absl::MaxSplits('-', 1));
    if (absl::SimpleAtoi(parts[1], &range.partition) &&
        absl::SimpleAtoi(ends.first, &range.begin) && absl::SimpleAtoi(ends.second, &range.end) &&
        range.partition >= 0 && range.begin >= 0 && range.end >= range.begin) {
      return range;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is no range of offsets: kafka://TOPIC/PARTITION/BEGIN-END"));
}

}  // namespace millrace
