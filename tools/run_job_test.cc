#include "tools/run_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millrace {
namespace {

std::string line(absl::string_view arguments) {
  const std::vector<std::string> split = absl::StrSplit(arguments, ' ');
  return absl::StrJoin(with_config(split, "own.textproto"), " ");
}

TEST(RunJobTest, ConfigStandsBehindCommandsThatTakeOne) {
  EXPECT_EQ(line("job train"), "job train own.textproto");
  EXPECT_EQ(line("job train --max_steps 5"), "job train own.textproto --max_steps 5");
  EXPECT_EQ(line("job evaluate --checkpoint out"), "job evaluate own.textproto --checkpoint out");
  EXPECT_EQ(line("job predict --output p.csv"), "job predict own.textproto --output p.csv");
  EXPECT_EQ(line("job export --output m.pt"), "job export own.textproto --output m.pt");
  EXPECT_EQ(line("job config check"), "job config check own.textproto");
  EXPECT_EQ(line("job config defaults --seed 2"), "job config defaults own.textproto --seed 2");
}

TEST(RunJobTest, AnotherConfigIsLeftAlone) {
  EXPECT_EQ(line("job train other.textproto"), "job train other.textproto");
  EXPECT_EQ(line("job config check other.textproto"), "job config check other.textproto");
}

TEST(RunJobTest, OtherCommandLinesStay) {
  for (const char* arguments : {"job", "job --help", "job generate --rows 5", "job bench loop",
                                "job config", "job config --help"}) {
    EXPECT_EQ(line(arguments), arguments);
  }
}

TEST(RunJobTest, TheConfigHasTheNameThatTheUserKnows) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::canonical(testing::TempDir()) / "source_path";
  const fs::path before = fs::current_path();
  fs::create_directories(folder / "jobs");
  std::ofstream(folder / "jobs" / "own.textproto") << "train {}";
  const fs::path link = folder / "link";
  fs::remove(link);
  fs::create_symlink(folder / "jobs" / "own.textproto", link);
  fs::current_path(folder);
  EXPECT_EQ(source_path(link), "jobs/own.textproto");
  fs::current_path(before);
  EXPECT_EQ(source_path(link), folder / "jobs" / "own.textproto");
  EXPECT_EQ(source_path("missing/own.textproto"), "missing/own.textproto");
}

TEST(RunJobTest, ExitCodeIsThatOfTheProgram) {
  char program[] = "job";
  char command[] = "no_such_command";
  char* arguments[] = {program, command, nullptr};
  ::setenv("OMP_WAIT_POLICY", "passive", 1);  // or the program restarts itself
  EXPECT_EQ(run_job(2, arguments, "millrace/none.textproto"), 64);
}

}  // namespace
}  // namespace millrace
