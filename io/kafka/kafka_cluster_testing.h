// A cluster that speaks Kafka's protocol, for tests: librdkafka's mock.
#ifndef MILLRACE_IO_KAFKA_KAFKA_CLUSTER_TESTING_H_
#define MILLRACE_IO_KAFKA_KAFKA_CLUSTER_TESTING_H_

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Brokers on free ports of this machine, which other processes can reach. A partition keeps its
// last 5 MB. Failures fail the test.
class KafkaCluster {
 public:
  explicit KafkaCluster(int brokers = 1);
  ~KafkaCluster();
  KafkaCluster(const KafkaCluster&) = delete;
  KafkaCluster& operator=(const KafkaCluster&) = delete;

  std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  void create_topic(const std::string& topic, int partitions);
  // Appends a record; flush() waits until all are there.
  void produce(const std::string& topic, int32_t partition, absl::string_view value,
               absl::string_view key = "", int64_t time_ms = 0);
  void flush();
  // Returns the offset that a group has committed; -1: none.
  int64_t committed(const std::string& group, const std::string& topic, int32_t partition) const;
  // Lets a broker, numbered from 1, refuse and close connections, or not.
  void set_down(int32_t broker, bool is_down);
  rd_kafka_mock_cluster_t* mock() { return cluster_; }

 private:
  static rd_kafka_t* make_client(const char* option, const std::string& value,
                                 const std::string& group = "");

  rd_kafka_t* owner_ = nullptr;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
  rd_kafka_t* producer_ = nullptr;
};

}  // namespace millrace

#endif  // MILLRACE_IO_KAFKA_KAFKA_CLUSTER_TESTING_H_
