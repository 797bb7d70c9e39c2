// The partitions of a Kafka topic, and their records by offset.
#ifndef MILLRACE_IO_KAFKA_KAFKA_TOPIC_H_
#define MILLRACE_IO_KAFKA_KAFKA_TOPIC_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "io/kafka/kafka_offsets.h"
#include "proto/config.pb.h"

namespace millrace {

struct KafkaRecord {
  int64_t offset = 0;
  int64_t time_ms = -1;  // since 1970; -1: unknown
  absl::string_view key = {};
  absl::string_view value = {};
};

// Figures of this process. Thread-safe.
struct KafkaCounters {
  static KafkaCounters& of(const std::string& topic);
  void note(const KafkaRecord& record);
  std::atomic<int64_t> bytes = 0;         // of values that were read as data
  std::atomic<int64_t> retries = 0;       // calls that failed and were repeated
  std::atomic<int64_t> last_time_ms = 0;  // the latest time of these, if passed; 0: none was read
};

// A client of one topic. Reads partitions by offset. Takes no partitions from a group of consumers,
// and stores nothing at the brokers but by commit().
// Used by one thread at a time.
//
// Errors of the functions, of which each may pass (KafkaPatience), with what the client says:
// Unavailable if no broker answers within seconds; NotFound for a topic that does not exist;
// FailedPrecondition for refused credentials or rights, and a broker that the library cannot speak
// to.
class KafkaConsumer {
 public:
  // Contacts nobody. Secrets in `config` are resolved. Errors: those of KafkaLibrary::get();
  // InvalidArgument for an option that librdkafka refuses.
  static absl::StatusOr<std::unique_ptr<KafkaConsumer>> create(const KafkaWindows& config);
  virtual ~KafkaConsumer() = default;

  // Returns the number of partitions, which are numbered from 0.
  virtual absl::StatusOr<int32_t> partitions() = 0;
  // Returns the offsets that a broker reports to have, up to the first record of an open
  // transaction. The end may be too low: there is a broker that does not count its last records.
  virtual absl::StatusOr<KafkaOffsets> offsets(int32_t partition) = 0;
  // Checks that read() reaches the ends of `ranges`, one for each partition, without reading them.
  // Errors also: FailedPrecondition for an end that the partition does not have.
  virtual absl::Status confirm(std::vector<KafkaOffsets> ranges) = 0;
  // Raises the end of each range that has fewer than `wanted` offsets, to as many or to the end of
  // the partition. Errors as of confirm().
  virtual absl::Status extend(int64_t wanted, std::vector<KafkaOffsets>* ranges) = 0;
  // Returns the offset of the first record of this time or later, the end if there is none.
  virtual absl::StatusOr<int64_t> offset_at(int32_t partition, absl::Time time) = 0;
  // Calls visit() for the records with offsets [begin, end), ascending. Offsets without a record,
  // such as those of transaction markers, are passed over. Bears failures for as long as
  // KafkaPatience does. What visit() gets lives as long as the call. Errors also: OutOfRange if the
  // brokers do not have `begin`.
  virtual absl::Status read(int32_t partition, int64_t begin, int64_t end,
                            const std::function<void(const KafkaRecord&)>& visit) = 0;
  // Stores offsets, one for each partition, for KafkaWindows.group. Waits two seconds at most.
  virtual absl::Status commit(absl::Span<const int64_t> offsets) = 0;
};

// How long failures of a consumer are borne: Unavailable for KafkaWindows.timeout_seconds, others,
// which a broker that has just started also reports, for ten seconds at most.
class KafkaPatience {
 public:
  KafkaPatience(const KafkaWindows& config, Clock& clock)
      : timeout_(absl::Seconds(config.timeout_seconds())),
        counters_(KafkaCounters::of(config.topic())),
        clock_(clock) {}
  // Takes note of what an attempt gave. Returns OK after a success, or if the attempt is to be
  // repeated; the failure once it is not. Logs a warning now and then.
  absl::Status note(const absl::Status& result);

 private:
  const absl::Duration timeout_;
  KafkaCounters& counters_;
  Clock& clock_;
  std::optional<absl::Duration> since_;  // the first failure after a success
  absl::Duration said_;                  // the time of the next warning
};

// Consumers of a topic that are shared by readers. Thread-safe.
class KafkaTopic {
 public:
  explicit KafkaTopic(KafkaWindows config) : config_(std::move(config)) {}

  // Returns the topic of this process with this configuration: the same object as long as anybody
  // holds it.
  static std::shared_ptr<KafkaTopic> shared(const KafkaWindows& config);

  const KafkaWindows& config() const { return config_; }
  // Values of records from which payloads that describe themselves take columns.
  std::vector<std::string> samples() ABSL_LOCKS_EXCLUDED(mutex_);
  void set_samples(std::vector<std::string> samples) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls use() with an idle consumer, or a new one. Errors: those of use() and
  // KafkaConsumer::create().
  absl::Status with_consumer(const std::function<absl::Status(KafkaConsumer&)>& use);

 private:
  const KafkaWindows config_;
  Mutex mutex_;
  std::vector<std::unique_ptr<KafkaConsumer>> idle_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> samples_ ABSL_GUARDED_BY(mutex_);
};

// Checks windows.kafka. Errors: InvalidArgument that begins with `where`.
absl::Status check_kafka(absl::string_view where, const KafkaWindows& config);

}  // namespace millrace

#endif  // MILLRACE_IO_KAFKA_KAFKA_TOPIC_H_
