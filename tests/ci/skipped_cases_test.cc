// Runs skipped_cases.py on events and results of a fabricated test run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/e2e/program_test.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

class SkippedCasesTest : public ProgramTest {
 protected:
  // A target whose only test was skipped for `reason`; "": not skipped.
  void add_target(const std::string& name, const std::string& reason,
                  const std::string& status = "PASSED") {
    const std::string skipped =
        reason.empty() ? ""
                       : absl::StrCat("<skipped message=\"a_test.cc:7&#x0A;", reason,
                                      "\"><![CDATA[a_test.cc:7\n", reason, "]]></skipped>");
    write(name + ".xml",
          absl::StrCat("<testsuites><testsuite name=\"A\"><testcase classname=\"A\" name=\"b\">",
                       skipped, "</testcase></testsuite></testsuites>"));
    absl::StrAppend(&events_, R"({"id":{"testResult":{"label":"//a:)", name,
                    R"("}},"testResult":{"status":")", status,
                    R"(","testActionOutput":[{"name":"test.xml","uri":"file://)",
                    path(name + ".xml"), "\"}]}}\n", R"({"id":{"testSummary":{"label":"//a:)", name,
                    R"("}},"testSummary":{"overallStatus":")", status, "\"}}\n");
  }

  ProgramResult count(bool in_ci) {
    write("events.json", events_);
    ::setenv("CI", in_ci ? "true" : "false", 1);
    const std::string script = std::filesystem::absolute("tests/ci/skipped_cases.py").string();
    return run_program({"/usr/bin/python3", script, path("events.json")});
  }

 private:
  std::string events_;
};

TEST_F(SkippedCasesTest, NoneIsFine) {
  add_target("runs", "");
  const ProgramResult result = count(true);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "0 cases skipped\n");
}

TEST_F(SkippedCasesTest, AreCountedByReason) {
  const std::string reason = skip_hardware("two CPUs", "one CPU only");
  add_target("one", reason);
  add_target("two", reason);
  add_target("runs", "");
  const ProgramResult result = count(false);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "2 cases skipped\n  2  hardware: two CPUs: one CPU only\n     //a:one A.b\n"
            "     //a:two A.b\n");
}

TEST_F(SkippedCasesTest, AReasonThatTheMachineBeliesIsRefusedInCi) {
  add_target("full", skip_kernel_feature("/dev/full", "none here"));
  if (!std::filesystem::exists("/dev/full")) {
    GTEST_SKIP() << skip_kernel_feature("/dev/full", "none here");
  }
  EXPECT_EQ(count(false).exit_code, 0);
  const ProgramResult result = count(true);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("(not allowed: this machine has /dev/full)"));
  EXPECT_THAT(result.out, HasSubstr("\nrefused //a:full\n"));
}

TEST_F(SkippedCasesTest, ReasonsWithoutAFormOrAProbeAreRefusedInCi) {
  add_target("package", "the package moto is missing");
  add_target("build", skip_build("sanitizers need address space"));
  add_target("unknown", skip_hardware("a floppy disk", "none"));
  const ProgramResult result = count(true);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("refused //a:build\nrefused //a:package\nrefused //a:unknown\n"));
}

TEST_F(SkippedCasesTest, DataOfUsersMayBeMissing) {
  add_target("data", skip_not_provided("MILLRACE_DATA", "no real data"));
  ::unsetenv("MILLRACE_DATA");
  EXPECT_EQ(count(true).exit_code, 0);
  ::setenv("MILLRACE_DATA", "/data", 1);
  EXPECT_EQ(count(true).exit_code, 1);
}

TEST_F(SkippedCasesTest, WhatIsTooLargeForCiMayBeMissing) {
  add_target("cuda", skip_not_provided("MILLRACE_CUDA_WHEELS", "call ./bazelw cuda_setup"));
  EXPECT_EQ(count(true).exit_code, 0);
}

TEST_F(SkippedCasesTest, WhatTheSetUpInstallsMayNotBeMissingInCi) {
  add_target("bucket", skip_not_provided("MILLRACE_S3_SERVER", "no server"));
  add_target("mpi", skip_package("mpich", "no mpiexec.mpich"));
  ::unsetenv("MILLRACE_S3_SERVER");
  EXPECT_EQ(count(false).exit_code, 0);
  const ProgramResult result = count(true);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("(not allowed: ./bazelw test_setup installs it)"));
  EXPECT_THAT(result.out, HasSubstr("\nrefused //a:bucket\nrefused //a:mpi\n"));
}

// The probe is that of hosts.py; whether it succeeds depends on the machine.
TEST_F(SkippedCasesTest, HostsAreProbedByTheirOwnProgram) {
  add_target("hosts", skip_kernel_feature("network namespaces", "none"));
  const ProgramResult result = count(true);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("1 cases skipped\n  1  kernel: network namespaces: none"));
}

// A failed target is already listed.
TEST_F(SkippedCasesTest, AFailedTargetIsNotNamedAgain) {
  add_target("broken", "no form", "FAILED");
  const ProgramResult result = count(true);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(result.out.find("refused"), std::string::npos);
}

}  // namespace
}  // namespace millrace
