#include "config/custom_check.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "config/custom_check_test.pb.h"
#include "proto/config.pb.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status check(const std::string& text) {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return check_custom_messages("train", config);
}

TEST(CustomCheckTest, AMessageBelongsToThePartOfItsName) {
  EXPECT_OK(check("optimizer { custom { name: 'halving' } }"));
  EXPECT_OK(check("optimizer { custom { name: 'halving' [millrace.halving] { factor: 2 } } }"));
  EXPECT_THAT(check("optimizer { custom { name: 'halving' [millrace.doubling] { factor: 2 } } }"),
              StatusIs(kInvalid, HasSubstr("train.optimizer.custom: [millrace.doubling] is not the "
                                           "message of \"halving\"")));
}

TEST(CustomCheckTest, AllPlacesAreNamedAtOnce) {
  EXPECT_THAT(check("custom_metric { name: 'a' [millrace.halving] {} }"
                    "custom_metric { name: 'doubling' [millrace.doubling] {} }"
                    "table { eviction { custom { name: 'b' [millrace.doubling] {} } } }"
                    "optimizer { schedule { chained { part { schedule {"
                    "  custom { name: 'c' [millrace.halving] {} } } } } } }"),
              StatusIs(kInvalid,
                       AllOf(HasSubstr("train.custom_metric[0]: [millrace.halving]"),
                             Not(HasSubstr("custom_metric[1]")),
                             HasSubstr("train.table[0].eviction.custom: [millrace.doubling]"),
                             HasSubstr("train.optimizer.schedule.chained.part[0].schedule.custom: "
                                       "[millrace.halving]"))));
}

TEST(CustomCheckTest, AMessageTooMuch) {
  EXPECT_THAT(check("optimizer { custom { name: 'halving' [millrace.halving] {} "
                    "[millrace.doubling] {} } }"),
              StatusIs(kInvalid, AllOf(HasSubstr("[millrace.doubling]"),
                                       Not(HasSubstr("[millrace.halving]")))));
}

TEST(CustomCheckTest, NumbersOfExtensionsHaveTheirRanges) {
  EXPECT_THAT(check("optimizer { custom { name: 'halving' [millrace.halving] { factor: 0 } } }"
                    "custom_metric { name: 'b' [millrace.doubling] { factor: 0 } }"),
              StatusIs(kInvalid, AllOf(HasSubstr("train.optimizer.custom: factor is 0; must be "
                                                 "greater than 0 and finite"),
                                       Not(HasSubstr("custom_metric[0]: factor")))));
  HookConfig hook;
  hook.MutableExtension(halving_hook)->set_factor(-1);
  EXPECT_THAT(
      check_extension_ranges("train.hooks[1]", hook, "halving_hook"),
      StatusIs(kInvalid, HasSubstr("train.hooks[1]: factor is -1; must be greater than 0")));
  EXPECT_THAT(
      check_extension_ranges("train.hooks[1]", hook, "other"),
      StatusIs(kInvalid, HasSubstr("train.hooks[1].[millrace.halving_hook]: factor is -1")));
}

}  // namespace
}  // namespace millrace
