#include "checkpoint/saver_check.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

absl::Status check(const std::string& text) {
  CheckpointConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return check_saver("c", config);
}

TEST(SaverCheckTest, Accepts) {
  EXPECT_OK(check(""));
  EXPECT_OK(
      check("keep_last: 1 keep_every: 10 full_last: 0 max_deltas: 1000 write_threads: 256 "
            "exclude: 'a*' keep_best { metric: 'eval/auc' count: 2 }"));
  EXPECT_OK(check("row_filter { frequency { min_frequency: 2 } }"));
}

TEST(SaverCheckTest, Refuses) {
  const auto fails = [](const std::string& text, const std::string& message) {
    EXPECT_THAT(check(text), StatusIs(absl::StatusCode::kInvalidArgument, message));
  };
  fails("keep_last: 0", "c: keep_last is 0; must be at least 1");
  fails("keep_best { metric: 'e/m' count: 0 }",
        "c.keep_best \"e/m\": count is 0; must be at least 1");
  fails("max_deltas: 1001", "c: max_deltas is 1001; must be 0 to 1000");
  fails("exclude: ''", "c: exclude has an empty pattern");
  fails("row_filter {}", "c.row_filter: says not which rows; give frequency or custom");
  fails("row_filter { frequency { min_frequency: 2 } } max_deltas: 3",
        "c.row_filter: max_deltas is above 0; a delta cannot omit rows of its base");
  fails("write_threads: 0", "c: write_threads is 0; must be 1 to 256");
}

}  // namespace
}  // namespace millrace
