// The cost of a hook of a plugin, compared with the same hook linked in.
//
//   ./bazelw test //tests/plugins:plugin_cost_test --test_output=all
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/status_matchers.h"
#include "framework/loop/hook_list.h"
#include "plugin/plugin_file.h"
#include "plugin/plugin_library.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/plugins/plugin_folder.h"

namespace millrace {
namespace {

constexpr int kEvents = 20000;
constexpr int kRepeats = 25;

// A hook equal to the hook of tests/plugins/quiet_plugin.cc.
class QuietHook : public Hook {
 public:
  absl::string_view name() const override { return "quiet"; }
};

// Returns the nanoseconds of one event of a list with this hook alone.
double event_nanoseconds(std::unique_ptr<Hook> hook) {
  HookList hooks;
  EXPECT_OK(hooks.add(std::move(hook)));
  FakeHookContext context;
  EXPECT_OK(hooks.start(context));
  double least = 1e9;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kEvents; ++i) {
      if (!hooks.before_step(context).ok()) return -1;
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    least = std::min(least, spent.count() / kEvents);
  }
  EXPECT_OK(hooks.end(context, absl::OkStatus()));
  return least;
}

// Takes the minimum of many repeats, because other work of the machine only adds time.
TEST(PluginCostTest, AnEventCostsLessThanAMicrosecond) {
  const PluginFolder folder;
  ASSERT_OK_AND_ASSIGN(PluginFile file,
                       PluginFile::open(folder.copy("quiet.so", "tests/plugins/quiet_plugin.so")));
  ASSERT_OK_AND_ASSIGN(CheckedPlugin checked, check_plugin_file(std::move(file)));
  ASSERT_OK_AND_ASSIGN(const PluginLibrary* library, PluginLibrary::load(std::move(checked)));
  const HookResources resources{FileSystem::local(), Clock::real(), "", {}};
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Hook> plugin,
                       library->create_hook("quiet", "quiet", "", resources));
  const double linked_in = event_nanoseconds(std::make_unique<QuietHook>());
  const double of_plugin = event_nanoseconds(std::move(plugin));
  std::printf("an event: %.1f ns linked in, %.1f ns of a plugin\n", linked_in, of_plugin);
  EXPECT_GT(linked_in, 0);
  EXPECT_GT(of_plugin, 0);
  EXPECT_LT(of_plugin - linked_in, 1000);
}

}  // namespace
}  // namespace millrace
