#include "io/kafka/kafka_path.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(KafkaPathTest, NamesARange) {
  const std::string path = kafka_path({.topic = "a.b-c", .partition = 3, .begin = 5, .end = 70});
  EXPECT_EQ(path, "kafka://a.b-c/3/5-70");
  ASSERT_OK_AND_ASSIGN(const KafkaRange range, parse_kafka_path(path));
  EXPECT_EQ(range.topic, "a.b-c");
  EXPECT_EQ(range.partition, 3);
  EXPECT_EQ(range.begin, 5);
  EXPECT_EQ(range.end, 70);
  for (const char* wrong : {"", "kafka://a/0", "kafka://a/0/5", "kafka://a/-1/5-6",
                            "kafka://a/0/6-5", "kafka://a/0/x-5", "a/0/5-6", "kafka://a/0/5-6/7"}) {
    EXPECT_THAT(parse_kafka_path(wrong).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr(wrong)));
  }
}

}  // namespace
}  // namespace millrace
