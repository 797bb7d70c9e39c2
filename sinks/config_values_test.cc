#include "sinks/config_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/config.pb.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ConfigValuesTest, FieldsThatAreSetByTheirPaths) {
  JobConfig config;
  config.mutable_train()->set_max_steps(7);
  config.mutable_train()->add_feature()->set_name("a");
  config.mutable_train()->add_feature()->set_kind(FeatureConfig::DENSE);
  config.mutable_train()->add_metric("auc");
  config.mutable_run()->mutable_report()->set_jsonl(false);
  const std::vector<ConfigValue> values = config_values(config);
  std::vector<std::string> lines;
  for (const ConfigValue& value : values) lines.push_back(value.path + "=" + to_text(value));
  EXPECT_THAT(lines,
              ::testing::UnorderedElementsAre("train.max_steps=7", "train.feature[0].name=a",
                                              "train.feature[1].kind=DENSE", "train.metric[0]=auc",
                                              "run.report.jsonl=false"));
}

TEST(ConfigValuesTest, NothingIsSet) { EXPECT_THAT(config_values(JobConfig()), IsEmpty()); }

TEST(ConfigValuesTest, PathsBeginWithThatOfTheMessage) {
  SinkConfig sink;
  sink.mutable_prometheus()->set_port(0);
  EXPECT_THAT(config_values(sink, "run.sink[0]"),
              ElementsAre(ConfigValue{"run.sink[0].prometheus.port", 0.0}));
}

}  // namespace
}  // namespace millrace
