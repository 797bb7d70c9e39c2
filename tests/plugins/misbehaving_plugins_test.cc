// Tests plugins that pass every check and then misbehave: an error results, and no exception
// escapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "plugin/plugin_file.h"
#include "plugin/plugin_library.h"
#include "tests/fakes/tiny_trainer.h"
#include "tests/plugins/plugin_folder.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<const PluginLibrary*> load(const std::string& path) {
  absl::StatusOr<PluginFile> file = PluginFile::open(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<CheckedPlugin> checked = check_plugin_file(std::move(*file));
  if (!checked.ok()) return checked.status();
  return PluginLibrary::load(std::move(*checked));
}

absl::StatusOr<std::unique_ptr<Hook>> create(const std::string& path, const std::string& hook,
                                             const std::string& config) {
  const absl::StatusOr<const PluginLibrary*> library = load(path);
  if (!library.ok()) return library.status();
  return (*library)->create_hook(hook, "instance", config,
                                 {FileSystem::local(), Clock::real(), "", {}});
}

struct Raw {  // an action of the plugin, and part of the error

  std::string told;
  std::string error;
};

class RawPluginTest : public testing::TestWithParam<Raw> {
 protected:
  ~RawPluginTest() override { ::unsetenv("MILLRACE_RAW_PLUGIN"); }
  PluginFolder folder_;
};

TEST_P(RawPluginTest, GivesAnError) {
  ::setenv("MILLRACE_RAW_PLUGIN", GetParam().told.c_str(), /*overwrite=*/1);
  // A plugin is loaded once, so each case has other bytes.
  const std::string path = folder_.write(
      "raw.so", absl::StrCat(read_runfile("tests/plugins/raw_plugin.so"), GetParam().told));
  const absl::Status status = create(path, "raw", "").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().error));
  EXPECT_EQ(create(path, "raw", "").status(), status);  // a second time
}

INSTANTIATE_TEST_SUITE_P(
    All, RawPluginTest,
    testing::Values(Raw{"throws", "its entry: not today"},
                    Raw{"throws a number", "its entry: something was thrown"},
                    Raw{"fails", "its entry failed: no table"},
                    Raw{"fails without text", "its entry failed"},
                    Raw{"two hooks", "has 2 hooks and its notes have 1"},
                    Raw{"no hooks", "has 0 hooks and its notes have 1"},
                    Raw{"another hook", "lacks the hook \"raw\""},
                    Raw{"no factory", "lacks the hook \"raw\""}, Raw{"null table", "has 0 hooks"},
                    Raw{"another version", "has version 99"}, Raw{"another size", "and 8 bytes"},
                    Raw{"throws in create", "its factory: no hook today"},
                    Raw{"throws a number in create", "its factory: something was thrown"},
                    Raw{"returns null from create", "its factory returned none"},
                    Raw{"fails in create without text", ""}));

TEST_F(RawPluginTest, AnExceptionWhileAHookIsDestroyedBecomesALogLine) {
  ::setenv("MILLRACE_RAW_PLUGIN", "throws in destroy", /*overwrite=*/1);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Hook> hook,
                       create(folder_.copy("raw.so", "tests/plugins/raw_plugin.so"), "raw", ""));
  EXPECT_EQ(hook->name(), "instance");
  testing::internal::CaptureStderr();
  hook.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("hook instance: destroying it"));
}

class ThrowingPluginTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Hook>> throwing(const std::string& config) {
    return create(folder_.copy("throwing.so", "tests/plugins/throwing_plugin.so"), "throwing",
                  config);
  }
  absl::StatusOr<Summary> train(const std::string& where, OnError on_error = OnError::kFail) {
    absl::StatusOr<std::unique_ptr<Hook>> hook = throwing(absl::StrCat("value: '", where, "'"));
    if (!hook.ok()) return hook.status();
    TinyTrainerOptions options;
    options.train.batches = 4;
    const std::unique_ptr<Trainer> trainer = tiny_trainer(options);
    EXPECT_OK(trainer->add_hook(std::move(*hook), on_error));
    return trainer->train();
  }

  PluginFolder folder_;
};

TEST_F(ThrowingPluginTest, InTheFactory) {
  EXPECT_THAT(throwing("value: 'factory'").status().ToString(),
              HasSubstr("its factory: from the factory"));
  EXPECT_THAT(throwing("value: 'number'").status().ToString(), HasSubstr("no std::exception"));
  EXPECT_THAT(throwing("value: 'null'").status().ToString(), HasSubstr("returned none"));
  // A status keeps its code, which determines the exit code of the program.
  EXPECT_THAT(throwing("value: 'status'").status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from the factory")));
}

TEST_F(ThrowingPluginTest, InAnEvent) {
  EXPECT_THAT(train("event").status().ToString(),
              HasSubstr("hook instance in after_step: threw an exception: from the event"));
  ASSERT_OK_AND_ASSIGN(const Summary summary, train("event", OnError::kWarn));
  EXPECT_EQ(summary.hooks.at("instance").errors, 4);
}

TEST_F(ThrowingPluginTest, InTheName) { EXPECT_OK(train("name")); }

TEST_F(ThrowingPluginTest, AnErrorOfTheConfigurationNamesItsPlace) {
  EXPECT_THAT(throwing("\n  valeu: 'x'").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("plugin.config: line 2, column 8: Message type "
                                 "\"google.protobuf.StringValue\" has no field named \"valeu\"")));
  EXPECT_THAT(create(folder_.copy("throwing.so", "tests/plugins/throwing_plugin.so"), "throwin", "")
                  .status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"throwing\"")));
}

}  // namespace
}  // namespace millrace
