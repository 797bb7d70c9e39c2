#include "job/hook_descriptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "hook/hook_registry.h"
#include "job/default_hooks.h"
#include "proto/config.pb.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

absl::StatusOr<std::unique_ptr<Hook>> refuse(const HookConfig&, const HookResources&) {
  return absl::InvalidArgumentError("not made here");
}
MILLRACE_REGISTER_HOOK(plain, "does nothing", &refuse);
MILLRACE_REGISTER_HOOK(sink, "sends reports", &refuse, OnError::kWarn);

TEST(HookDescriptionsTest, ListsAllInCallingOrder) {
  const std::string text = list_hooks();
  size_t place = 0;
  for (const DefaultHook& hook : default_hooks()) {
    const size_t found = text.find("\n  " + hook.name + " ", place);
    ASSERT_NE(found, std::string::npos) << hook.name;
    place = found;
  }
  EXPECT_THAT(text.substr(place),
              ContainsRegex("\n  plain +does nothing\n(  .*\n)*  sink +sends reports\n"));
}

TEST(HookDescriptionsTest, DescribesEachDefaultHook) {
  for (const DefaultHook& hook : default_hooks()) {
    ASSERT_OK_AND_ASSIGN(const std::string text, describe_hook(hook.name));
    EXPECT_THAT(text, AllOf(StartsWith(hook.name + ": " + hook.description + "\n"),
                            HasSubstr(hook.field), HasSubstr(hook.switch_off)));
  }
  EXPECT_THAT(describe_hook("metric_report"),
              IsOkAndHolds(AllOf(
                  HasSubstr("unless run.report.jsonl=false\n"), HasSubstr("logged and counted"),
                  HasSubstr("unless run.report.on_error says otherwise"),
                  HasSubstr("\njsonl  bool = true "), HasSubstr("metrics/train.jsonl"))));
  EXPECT_THAT(describe_hook("evaluation"),
              IsOkAndHolds(HasSubstr("configured by run.evaluation, an EvaluationConfig:\n")));
  EXPECT_THAT(describe_hook("non_finite_guard"),
              IsOkAndHolds(AllOf(HasSubstr("an error ends the run (FAIL)\n"),
                                 HasSubstr("policy  FAIL|SKIP = FAIL"))));
}

TEST(HookDescriptionsTest, DescribesWhatIsLinkedIn) {
  EXPECT_THAT(describe_hook("plain"),
              IsOkAndHolds(AllOf(StartsWith("plain: does nothing\n"),
                                 HasSubstr("hooks { name: \"plain\" }"),
                                 HasSubstr("ends the run (FAIL), unless on_error"),
                                 HasSubstr("no extension of HookConfig has its name"))));
  EXPECT_THAT(describe_hook("sink"), IsOkAndHolds(HasSubstr("(WARN)")));
}

TEST(HookDescriptionsTest, AMisspeltNameNamesTheNearest) {
  EXPECT_THAT(describe_hook("loger"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"logger\"?")));
  EXPECT_THAT(describe_hook("sinc"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"sink\"?")));
  EXPECT_THAT(describe_hook("something_else"),
              StatusIs(absl::StatusCode::kInvalidArgument, Not(HasSubstr("did you mean"))));
}

}  // namespace
}  // namespace millrace
