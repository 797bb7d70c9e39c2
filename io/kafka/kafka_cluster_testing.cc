#include "io/kafka/kafka_cluster_testing.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace millrace {

KafkaCluster::KafkaCluster(int brokers) {
  // A client with a cluster of its own.
  owner_ = make_client("test.mock.num.brokers", absl::StrCat(brokers));
  cluster_ = rd_kafka_handle_mock_cluster(owner_);
  EXPECT_NE(cluster_, nullptr);
  producer_ = make_client("bootstrap.servers", this->brokers());
}

KafkaCluster::~KafkaCluster() {
  rd_kafka_destroy(producer_);
  rd_kafka_destroy(owner_);
}

rd_kafka_t* KafkaCluster::make_client(const char* option, const std::string& value,
                                      const std::string& group) {
  char error[512] = "";
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, option, value.c_str(), error, sizeof(error));
  rd_kafka_conf_set(conf, "log_level", "0", error, sizeof(error));
  if (!group.empty()) rd_kafka_conf_set(conf, "group.id", group.c_str(), error, sizeof(error));
  const rd_kafka_type_t type = group.empty() ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER;
  rd_kafka_t* const client = rd_kafka_new(type, conf, error, sizeof(error));
  EXPECT_NE(client, nullptr) << error;
  return client;
}

void KafkaCluster::create_topic(const std::string& topic, int partitions) {
  EXPECT_EQ(rd_kafka_mock_topic_create(cluster_, topic.c_str(), partitions, 1), 0);
}

void KafkaCluster::produce(const std::string& topic, int32_t partition, absl::string_view value,
                           absl::string_view key, int64_t time_ms) {
  const auto bytes = [](absl::string_view text) { return const_cast<char*>(text.data()); };
  const rd_kafka_resp_err_t error = rd_kafka_producev(
      producer_, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(partition),
      RD_KAFKA_V_VALUE(bytes(value), value.size()), RD_KAFKA_V_KEY(bytes(key), key.size()),
      RD_KAFKA_V_TIMESTAMP(time_ms), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
  EXPECT_EQ(error, RD_KAFKA_RESP_ERR_NO_ERROR) << rd_kafka_err2str(error);
}

void KafkaCluster::flush() {
  EXPECT_EQ(rd_kafka_flush(producer_, 20000), RD_KAFKA_RESP_ERR_NO_ERROR);
}

int64_t KafkaCluster::committed(const std::string& group, const std::string& topic,
                                int32_t partition) const {
  rd_kafka_t* const client = make_client("bootstrap.servers", brokers(), group);
  rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), partition);
  const rd_kafka_resp_err_t error = rd_kafka_committed(client, list, 10000);
  EXPECT_EQ(error, RD_KAFKA_RESP_ERR_NO_ERROR) << rd_kafka_err2str(error);
  const int64_t offset = list->elems[0].offset;
  rd_kafka_topic_partition_list_destroy(list);
  rd_kafka_destroy(client);
  return offset < 0 ? -1 : offset;
}

void KafkaCluster::set_down(int32_t broker, bool is_down) {
  const auto set = is_down ? rd_kafka_mock_broker_set_down : rd_kafka_mock_broker_set_up;
  EXPECT_EQ(set(cluster_, broker), RD_KAFKA_RESP_ERR_NO_ERROR);
  // One that has lost its brokers takes long to come back.
  rd_kafka_destroy(producer_);
  producer_ = make_client("bootstrap.servers", brokers());
}

}  // namespace millrace
