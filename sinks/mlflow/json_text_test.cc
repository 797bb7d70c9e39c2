#include "sinks/mlflow/json_text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using Json = nlohmann::json;

TEST(JsonTextTest, DumpsAsciiInOneLineOrInSeveral) {
  EXPECT_EQ(dump_json({{"a", "ü"}}), "{\"a\":\"\\u00fc\"}");
  EXPECT_EQ(dump_json({{"a", 1}}, 2), "{\n  \"a\": 1\n}");
  EXPECT_EQ(dump_json("a\xff"), "\"a\\ufffd\"");
}

TEST(JsonTextTest, TextsOfAnObject) {
  const Json object = {{"name", "x"}, {"number", 1}};
  EXPECT_EQ(text_of(object, "name"), "x");
  EXPECT_EQ(text_of(object, "number"), "");
  EXPECT_EQ(text_of(object, "none"), "");
}

}  // namespace
}  // namespace millrace
