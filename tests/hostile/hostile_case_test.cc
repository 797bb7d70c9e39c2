// Tests that violations of a case are found, with a program that misbehaves as a test chooses.
#include "tests/hostile/hostile_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace millrace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HostileCaseTest : public testing::Test {
 protected:
  HostileCaseTest() : folder_(testing::TempDir() + "/hostile") {
    fs::remove_all(folder_);
    for (const char* name : {"/bin", "/template/run"}) fs::create_directories(folder_ + name);
    // `millrace SCRIPT` runs the script.
    std::ofstream(folder_ + "/bin/millrace") << "#!/bin/bash\neval \"$1\"\n";
    fs::permissions(folder_ + "/bin/millrace", fs::perms::owner_all);
    std::ofstream(folder_ + "/template/job.textproto") << "a job";
    std::ofstream(folder_ + "/template/run/checkpoint") << "numbers";
  }

  std::vector<std::string> run(const HostileCase& hostile) const {
    return run_hostile_case(hostile, {.program_folder = folder_ + "/bin",
                                      .template_folder = folder_ + "/template",
                                      .folder = folder_ + "/case"});
  }

  const std::string folder_;
};

TEST_F(HostileCaseTest, WhatHolds) {
  EXPECT_THAT(run({"A", "", "", "millrace 'echo no: such >&2; exit 3'", 3, "no: *"}), IsEmpty());
  EXPECT_THAT(run({"A",
                   "",
                   "echo mine > notes; trained out",
                   "millrace 'cat notes job.textproto > out/new; rm out/checkpoint'",
                   0,
                   "",
                   {"out/new", "out/check*"}}),
              IsEmpty());
  EXPECT_FALSE(fs::exists(folder_ + "/case"));
}

TEST_F(HostileCaseTest, CodeAndLastLine) {
  EXPECT_THAT(run({"A", "", "", "millrace 'echo no >&2; exit 3'", 4, "yes"}),
              ElementsAre(HasSubstr("exit code is 3 and not 4"), HasSubstr("the last line is"),
                          HasSubstr("stderr was\nno")));
  EXPECT_THAT(run({"A", "", "", "millrace 'kill -KILL $$'", 137, "*"}), IsEmpty());
  EXPECT_THAT(run({"A", "", "", "millrace 'echo what\\(\\): bad >&2; exit 1'", 1, "*"}),
              ElementsAre("stderr has \"what():\"", HasSubstr("stderr was")));
}

TEST_F(HostileCaseTest, AUsersFileThatChanged) {
  EXPECT_THAT(run({"A", "", "echo mine > notes", "millrace 'echo yours > notes'", 0, ""}),
              ElementsAre("notes changed"));
  EXPECT_THAT(run({"A", "", "", "millrace 'rm job.textproto'", 0, ""}),
              ElementsAre("job.textproto is gone"));
  EXPECT_THAT(run({"A", "", "", "millrace 'cp job.textproto a; mv a job.textproto'", 0, ""}),
              ElementsAre("job.textproto changed"))
      << "the same bytes in another file";
  EXPECT_THAT(run({"A", "", "", "millrace 'chmod 600 job.textproto'", 0, ""}),
              ElementsAre("job.textproto changed"));
}

TEST_F(HostileCaseTest, FilesWhereNoneShouldBe) {
  EXPECT_THAT(run({"A", "", "", "millrace 'mkdir out; echo x > out/.tmp-7'", 0, ""}),
              ElementsAre("out appeared", "out/.tmp-7 appeared"));
  EXPECT_THAT(run({"A", "", "", "millrace true", 0, "", {"out*"}}),
              ElementsAre("nothing appeared or changed at out*"));
}

TEST_F(HostileCaseTest, PermissionsAreObeyed) {
  EXPECT_THAT(
      run({"A", "", "mkdir o; chmod 555 o", "millrace 'echo x 2> /dev/null > o/x'", 1, "*"}),
      IsEmpty());
}

TEST_F(HostileCaseTest, WhatCannotBePrepared) {
  EXPECT_THAT(run({"A", "", "false", "millrace true", 0, ""}),
              ElementsAre(HasSubstr("cannot be prepared")));
}

TEST(MatchesPatternTest, StarsStandForAnyText) {
  EXPECT_TRUE(matches_pattern("", ""));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_TRUE(matches_pattern("abc", "abc"));
  EXPECT_TRUE(matches_pattern("a[b]c", "a[*c"));
  EXPECT_TRUE(matches_pattern("abcabc", "*ab*c"));
  EXPECT_FALSE(matches_pattern("abc", "ab"));
  EXPECT_FALSE(matches_pattern("abc", "*b"));
  EXPECT_FALSE(matches_pattern("ab", "abc*"));
}

}  // namespace
}  // namespace millrace
