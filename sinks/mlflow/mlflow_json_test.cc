#include "sinks/mlflow/mlflow_json.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using Json = nlohmann::json;

TEST(MlflowJsonTest, DumpsAsciiInOneLineOrInSeveral) {
  EXPECT_EQ(dump_json({{"a", "ü"}}), "{\"a\":\"\\u00fc\"}");
  EXPECT_EQ(dump_json({{"a", 1}}, 2), "{\n  \"a\": 1\n}");
  EXPECT_EQ(dump_json("a\xff"), "\"a\\ufffd\"");
}

TEST(MlflowJsonTest, TextsOfAnObject) {
  const Json object = {{"name", "x"}, {"number", 1}};
  EXPECT_EQ(text_of(object, "name"), "x");
  EXPECT_EQ(text_of(object, "number"), "");
  EXPECT_EQ(text_of(object, "none"), "");
}

}  // namespace
}  // namespace millrace
