// Tests plugins in the millrace program: the example job, its fingerprint, refusals, and `plugin
// inspect`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/program_test.h"
#include "tests/plugins/plugin_folder.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kGuard[] = "calibration_guard.so";

class PluginTest : public ProgramTest {
 protected:
  PluginTest() {
    for (const std::string name : {kGuard, "ids_per_example.so"}) {
      folder_.copy(name, "examples/plugins/" + name);
    }
    write_job({});
  }

  // Writes the job of the example with plugins of the folder, and with some texts replaced.
  void write_job(std::initializer_list<std::pair<absl::string_view, absl::string_view>> changes) {
    const std::string example = absl::StrReplaceAll(
        read_runfile("examples/plugins/plugins.textproto"),
        {{"/opt/millrace/plugins", folder_.path()}, {"rows: 20000", "rows: 5120"}});
    const std::string changed = absl::StrReplaceAll(example, changes);
    EXPECT_TRUE(changes.size() == 0 || changed != example);
    write("job.textproto", changed);
  }

  // Expects that `config check` and `train` refuse the job before any output.
  void expect_refused(const std::string& error) const {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"config", "check", "job.textproto"},
          {"train", "job.textproto"}}) {
      const ProgramResult result = millrace(command);
      EXPECT_EQ(result.exit_code, kUsage) << result.err;
      EXPECT_THAT(result.err, HasSubstr(error));
    }
    EXPECT_FALSE(exists("out/plugins"));
  }

  PluginFolder folder_;
};

TEST_F(PluginTest, TheExampleTrains) {
  EXPECT_THAT(
      millrace_ok({"config", "check", "job.textproto"}).out,
      EndsWith("\n# not checked: hook guard of a plugin, hook ids_per_example of a plugin\n"));
  const ProgramResult result = millrace_ok({"train", "job.textproto"});
  EXPECT_THAT(result.err, HasSubstr("guard, ids_per_example"));
  const Json summary = read_json("out/plugins/summary.json");
  EXPECT_EQ(summary["steps"], 10);
  EXPECT_GE(summary["hooks"]["guard"]["events"]["after_step"]["calls"].get<int>(), 10);
  const Json report = read_json_lines("out/plugins/metrics/train.jsonl").at(0);
  EXPECT_GT(report["values"]["ids_per_example"].get<double>(), 0);
  EXPECT_TRUE(report["values"].contains("calibration_error"));
}

TEST_F(PluginTest, OptionsOfThePluginDecide) {
  write_job({{"max_error: 0.5", "max_error: 1e-6 patience: 1"}});
  millrace_ok({"train", "job.textproto"});
  const Json summary = read_json("out/plugins/summary.json");
  EXPECT_EQ(summary["steps"], 5);
  EXPECT_THAT(summary["stop_reason"].get<std::string>(), HasSubstr("off the labels"));
}

TEST_F(PluginTest, AnotherFileIsAnotherJobAndAnotherPathIsNot) {
  millrace_ok({"train", "job.textproto", "--max_steps", "4"});
  // The same bytes at another path are the same plugin.
  folder_.copy("moved.so", std::string("examples/plugins/") + kGuard);
  write_job({{kGuard, "moved.so"}});
  millrace_ok({"train", "job.textproto", "--max_steps", "6"});
  EXPECT_EQ(read_json("out/plugins/summary.json")["steps"], 6);
  // Other bytes at the old path are another plugin.
  folder_.write(kGuard, read_runfile(std::string("examples/plugins/") + kGuard) + "x");
  write_job({});
  const ProgramResult refused = millrace({"train", "job.textproto"});
  EXPECT_EQ(refused.exit_code, kUsage) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("hooks[guard].plugin.sha256"));
  // A plugin that does not change the result is not part of the job.
  folder_.copy(kGuard, std::string("examples/plugins/") + kGuard);
  folder_.write("ids_per_example.so", read_runfile("examples/plugins/ids_per_example.so") + "x");
  millrace_ok({"train", "job.textproto"});
  EXPECT_EQ(read_json("out/plugins/summary.json")["steps"], 10);
}

TEST_F(PluginTest, WrongPathsAreRefusedBeforeAnything) {
  write_job({{absl::StrCat(folder_.path(), "/", kGuard), "calibration_guard.so"}});
  expect_refused("train.hooks[0] \"guard\".plugin: calibration_guard.so: the path is relative");
  write_job({{absl::StrCat("directory: \"", folder_.path()), "directory: \"plugins"}});
  expect_refused("run.plugins.directory[0]");
  write_job({{absl::StrCat("plugins { directory: \"", folder_.path(), "\" }"), ""}});
  expect_refused("run.plugins.directory is not set");
  ASSERT_EQ(::symlink(folder_.file(kGuard).c_str(), folder_.file("link.so").c_str()), 0);
  write_job({{kGuard, "link.so"}});
  expect_refused("link.so: it is a symbolic link");
}

TEST_F(PluginTest, WrongFieldsAreRefusedBeforeAnything) {
  write_job({{"name: \"guard\"", "name: \"logger\""}});
  expect_refused("\"logger\" is a hook of this program");
  write_job({{"name: \"guard\"", "name: \"early_stopping\""}});
  expect_refused("\"early_stopping\" is a hook of this program");
  write_job({{"name: \"guard\"", "name: \"ids_per_example\""}});
  expect_refused("run.hooks[0] \"ids_per_example\"");
  write_job({{"hook: \"calibration_guard\"", "hook: \"calibration_gard\""}});
  expect_refused("has no hook \"calibration_gard\"; did you mean \"calibration_guard\"?");
  write_job({{"hook: \"calibration_guard\"", ""}});
  expect_refused("hook is missing");
  write_job({{"hook: \"calibration_guard\"", "hook: \"calibration_guard\" sha256: \"12\""}});
  expect_refused("must be 64 hexadecimal digits");
  write_job({{"name: \"guard\"", "name: \"guard\" [millrace.evict_rows] {}"}});
  expect_refused("give the options of the plugin's hook as text in config");
}

TEST_F(PluginTest, AWrongOptionIsAnErrorOfTheHook) {
  write_job({{"max_error", "max_eror"}});
  const ProgramResult result = millrace({"train", "job.textproto"});
  EXPECT_EQ(result.exit_code, kUsage);
  EXPECT_THAT(
      result.last_error(),
      AllOf(HasSubstr("creating hook \"guard\": plugin.config: line 1"), HasSubstr("max_eror")));
}

TEST_F(PluginTest, InspectSaysWhatIsInAPlugin) {
  const ProgramResult text = millrace_ok({"plugin", "inspect", folder_.file(kGuard)});
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("calibration_guard: stops training when"), HasSubstr("LibTorch:  2."),
                    HasSubstr("libstdc++.so"), Not(HasSubstr("libprotobuf.so")),
                    HasSubstr("examples/plugins/calibration_guard.proto"),
                    HasSubstr("this program accepts it")));
  const Json json =
      Json::parse(millrace_ok({"plugin", "inspect", folder_.file(kGuard), "--json"}).out);
  EXPECT_EQ(json["accepted"], true);
  EXPECT_EQ(json["note"]["hooks"][0]["name"], "calibration_guard");
  EXPECT_EQ(json["sha256"].get<std::string>().size(), 64);
  EXPECT_THAT(json["exports"], Contains("millrace_hook_plugin_v1"));
}

TEST_F(PluginTest, InspectSaysWhyAFileIsRefused) {
  write("text.so", "no plugin");
  const ProgramResult text = millrace({"plugin", "inspect", path("text.so"), "--json"});
  EXPECT_EQ(text.exit_code, kBadData);
  const Json json = Json::parse(text.out);
  EXPECT_EQ(json["accepted"], false);
  EXPECT_THAT(json["refusals"][0].get<std::string>(), HasSubstr("too short"));
  ASSERT_EQ(::symlink(folder_.file(kGuard).c_str(), folder_.file("link.so").c_str()), 0);
  const ProgramResult link = millrace({"plugin", "inspect", folder_.file("link.so")});
  EXPECT_EQ(link.exit_code, kBadData);
  EXPECT_THAT(link.out, AllOf(HasSubstr("this program refuses it"), HasSubstr("symbolic link"),
                              HasSubstr("calibration_guard: stops")));
  EXPECT_EQ(millrace({"plugin", "inspect", "missing.so"}).exit_code, kNoInput);
  EXPECT_EQ(millrace({"plugin", "inspect"}).exit_code, kUsage);
}

}  // namespace
}  // namespace millrace
