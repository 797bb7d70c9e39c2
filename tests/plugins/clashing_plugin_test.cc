// Tests a plugin whose messages exist in the program under another path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/status_matchers.h"
#include "plugin/plugin_file.h"
#include "plugin/plugin_library.h"
#include "tests/plugins/plugin_folder.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Loading the plugin would end the process: protobuf registers its messages before any other code
// of the plugin runs.
TEST(ClashingPluginTest, AMessageOfTheProgramUnderAnotherPathIsRefused) {
  const PluginFolder folder;
  const std::string path = folder.copy("clashing.so", "tests/plugins/clashing_plugin.so");
  ASSERT_OK_AND_ASSIGN(PluginFile file, PluginFile::open(path));
  const absl::Status status = check_plugin_file(std::move(file)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("its tests/plugins/clashing_plugin.proto has the name "
                        "millrace.HookConfig, but the program or a plugin already has one of "
                        "proto/config.proto: give the messages of the plugin a package"));
}

}  // namespace
}  // namespace millrace
