// librdkafka, opened when a job names a Kafka topic.
#ifndef MILLRACE_IO_KAFKA_KAFKA_LIBRARY_H_
#define MILLRACE_IO_KAFKA_KAFKA_LIBRARY_H_

#include <librdkafka/rdkafka.h>

#include <string>

#include "absl/status/statusor.h"

namespace millrace {

// The functions of librdkafka that Millrace calls, under their names without rd_kafka_.
struct KafkaLibrary {
  std::string name;  // path or SONAME

#define MILLRACE_KAFKA_FUNCTIONS(F) \
  F(assign)                         \
  F(commit_queue)                   \
  F(conf_destroy)                   \
  F(conf_new)                       \
  F(conf_set)                       \
  F(conf_set_error_cb)              \
  F(conf_set_log_cb)                \
  F(conf_set_opaque)                \
  F(consumer_poll)                  \
  F(destroy_flags)                  \
  F(err2str)                        \
  F(event_destroy)                  \
  F(event_error)                    \
  F(message_destroy)                \
  F(message_timestamp)              \
  F(metadata)                       \
  F(metadata_destroy)               \
  F(new)                            \
  F(offsets_for_times)              \
  F(opaque)                         \
  F(poll_set_consumer)              \
  F(query_watermark_offsets)        \
  F(queue_destroy)                  \
  F(queue_new)                      \
  F(queue_poll)                     \
  F(topic_destroy)                  \
  F(topic_new)                      \
  F(topic_partition_list_add)       \
  F(topic_partition_list_destroy)   \
  F(topic_partition_list_new)       \
  F(version)                        \
  F(version_str)
#define MILLRACE_KAFKA_MEMBER(function) decltype(&rd_kafka_##function) function##_ = nullptr;
  MILLRACE_KAFKA_FUNCTIONS(MILLRACE_KAFKA_MEMBER)
#undef MILLRACE_KAFKA_MEMBER

  // Returns the library that the environment variable MILLRACE_LIBRDKAFKA names or, without it,
  // the system's librdkafka.so.1 or, if that is missing or too old, carried(). It stays open until
  // the process ends. Thread-safe. Errors: FailedPrecondition if there is none, or one older than
  // 2.0.2, saying what to install.
  static absl::StatusOr<const KafkaLibrary*> get();
  // Returns the library that the package of this program has: the value of the environment variable
  // MILLRACE_CARRIED_LIBRDKAFKA, which packages set; "" without one.
  static std::string carried();
};

}  // namespace millrace

#endif  // MILLRACE_IO_KAFKA_KAFKA_LIBRARY_H_
