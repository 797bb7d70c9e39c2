#include "sinks/mlflow/metric_record.h"

#include <cmath>
#include <limits>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using Limits = std::numeric_limits<double>;

TEST(MetricRecordTest, OneLineOfJson) {
  EXPECT_EQ(to_json({.step = 3, .time_ms = 5, .metrics = {{"train/auc", 0.5}, {"a b", 1e300}}}),
            "{\"step\":3,\"time\":5,\"metrics\":[[\"train/auc\",0.5],[\"a b\",1e+300]]}");
  EXPECT_EQ(to_json({.step = 3, .time_ms = 5, .set = "a\"b", .metrics = {}}),
            "{\"step\":3,\"time\":5,\"set\":\"a\\\"b\",\"metrics\":[]}");
  EXPECT_EQ(to_json({}), "{\"step\":0,\"time\":0,\"metrics\":[]}");
}

TEST(MetricRecordTest, ReadsBack) {
  const MetricRecord record{.step = std::numeric_limits<int64_t>::max(),
                            .time_ms = 1795773801243,
                            .set = "eval",
                            .metrics = {{"third", 1.0 / 3},
                                        {"smallest", Limits::denorm_min()},
                                        {"largest", Limits::max()},
                                        {"infinite", Limits::infinity()},
                                        {"negative", -Limits::infinity()},
                                        {"integer", 7},
                                        {"a\"b\nc", 0}}};
  ASSERT_OK_AND_ASSIGN(const MetricRecord read, parse_metric_record(to_json(record)));
  EXPECT_EQ(read, record);
  ASSERT_OK_AND_ASSIGN(const MetricRecord of_no_set, parse_metric_record(to_json({.step = 1})));
  EXPECT_EQ(of_no_set, MetricRecord{.step = 1});
  ASSERT_OK_AND_ASSIGN(const MetricRecord nan,
                       parse_metric_record(to_json({.metrics = {{"a", Limits::quiet_NaN()}}})));
  EXPECT_TRUE(std::isnan(nan.metrics.at(0).second));
}

TEST(MetricRecordTest, StepOfAText) {
  EXPECT_EQ(step_of(to_json({.step = 12, .time_ms = 5, .metrics = {}})), 12);
  for (const char* text : {"", "x", "{\"step\":", "{\"step\":x,"}) EXPECT_EQ(step_of(text), 0);
}

TEST(MetricRecordTest, MalformedRecords) {
  for (const char* json :
       {"", "{", "[]", "{}", R"({"step":1,"time":2})", R"({"step":"1","time":2,"metrics":[]})",
        R"({"step":1,"time":2.5,"metrics":[]})", R"({"step":1,"time":2,"metrics":{}})",
        R"({"step":1,"time":2,"metrics":[1]})", R"({"step":1,"time":2,"metrics":[["a"]]})",
        R"({"step":1,"time":2,"metrics":[["a","b"]]})", R"({"step":1,"time":2,"metrics":[[1,1]]})",
        R"({"step":1,"time":2,"metrics":[]}x)"}) {
    EXPECT_THAT(parse_metric_record(json).status(), StatusIs(absl::StatusCode::kDataLoss)) << json;
  }
}

}  // namespace
}  // namespace millrace
