#include "plugin/plugin_config_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "proto/hook_configs.pb.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

template <typename Message>
Message parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

void expect_wrong(const std::string& hook, const std::string& error) {
  EXPECT_THAT(check_plugin_hook("here", parse<HookConfig>(hook)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
}

TEST(PluginConfigCheckTest, AHookOfAPluginHasItsNameByDefault) {
  const std::string plugin = "plugin { path: '/p/a.so' hook: 'a' }";
  EXPECT_EQ(instance_name(parse<HookConfig>(plugin)), "a");
  EXPECT_EQ(instance_name(parse<HookConfig>(plugin + "name: 'b'")), "b");
  EXPECT_EQ(instance_name(parse<HookConfig>("name: 'c'")), "c");
  EXPECT_EQ(instance_name(HookConfig()), "");
}

TEST(PluginConfigCheckTest, RightOnes) {
  EXPECT_OK(check_plugin_hook("here", parse<HookConfig>("name: 'logger'")));
  EXPECT_OK(check_plugin_hook("here", parse<HookConfig>("plugin { path: '/p/a.so' hook: 'a' }")));
  EXPECT_OK(check_plugins("there", PluginsConfig()));
}

TEST(PluginConfigCheckTest, WrongHooks) {
  expect_wrong("plugin { hook: 'a' }", "here.plugin: path is missing");
  expect_wrong("plugin { path: '/p/a.so' }", "here.plugin: hook is missing");
  expect_wrong("plugin { path: 'a.so' hook: 'a' }", "here.plugin: a.so: the path is relative");
  expect_wrong("plugin { path: '/p/../a.so' hook: 'a' }", "the path has a part \"..\"");
  expect_wrong("plugin { path: '/p//a.so' hook: 'a' }", "the path has a part \"\"");
  expect_wrong("plugin { path: '/p/a\\0.so' hook: 'a' }", "zero byte");
  expect_wrong("plugin { path: '/p/a.so' hook: 'a' sha256: 'abc' }", "sha256 is \"abc\"");
  expect_wrong("plugin { path: '/p/a.so' hook: 'a' } [millrace.evict_rows] {}", "an extension");
  expect_wrong("plugin {}", "here.plugin: path is missing\nhere.plugin: hook is missing");
}

TEST(PluginConfigCheckTest, WrongDirectoriesAndDigests) {
  const auto check = [](const std::string& text) {
    return std::string(check_plugins("there", parse<PluginsConfig>(text)).message());
  };
  EXPECT_THAT(check("directory: '/p' directory: 'q'"),
              HasSubstr("there.directory[1]: \"q\": the path is relative"));
  EXPECT_THAT(check("directory: '/p/'"), HasSubstr("there.directory[0]"));
  EXPECT_THAT(check("sha256: ''"), HasSubstr("there.sha256[0]: sha256 is \"\""));
}

}  // namespace
}  // namespace millrace
