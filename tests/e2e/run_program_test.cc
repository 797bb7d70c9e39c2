#include "tests/e2e/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

TEST(RunProgramTest, OutputsAndExitCode) {
  const ProgramResult result = run_program(shell("echo out; echo one >&2; echo two >&2; exit 7"));
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "one\ntwo\n");
  EXPECT_EQ(result.last_error(), "two");
}

TEST(RunProgramTest, LastErrorLine) {
  EXPECT_EQ(ProgramResult{}.last_error(), "");
  EXPECT_EQ((ProgramResult{0, "", "one"}).last_error(), "one");
  EXPECT_EQ((ProgramResult{0, "", "one\ntwo\n\n"}).last_error(), "two");
  EXPECT_EQ((ProgramResult{0, "", "one\ntwo:\n  a\n  b\n"}).last_error(), "two:\n  a\n  b");
}

TEST(RunProgramTest, MuchOutputOnBothDoesNotBlock) {
  const ProgramResult result =
      run_program(shell("i=0; while [ $i -lt 3000 ]; do i=$((i+1));"
                        "echo 0123456789012345678901234567890123456789012345678901234567890123;"
                        "echo 0123456789012345678901234567890123456789012345678901234567890123 >&2;"
                        "done"));
  EXPECT_EQ(result.out.size(), 65 * 3000u);
  EXPECT_EQ(result.err.size(), 65 * 3000u);
}

TEST(RunProgramTest, WhatCannotBeStarted) {
  EXPECT_EQ(run_program({"/no/such/program"}).exit_code, 127);
  EXPECT_EQ(run_program(shell("exit 0"), {.directory = "/no/such/directory"}).exit_code, 127);
}

TEST(RunProgramTest, StandsWhereItIsTold) {
  EXPECT_EQ(run_program(shell("pwd"), {.directory = "/"}).out, "/\n");
}

TEST(RunProgramTest, WaitsForALineAndSendsSignals) {
  RunningProgram program(
      shell("trap 'echo caught >&2; exit 3' TERM; echo ready >&2;"
            "while :; do sleep 0.01; echo again >&2; done"));
  ASSERT_TRUE(program.wait_for("ready\n"));
  ASSERT_TRUE(program.wait_for_more("again\n"));
  program.send(SIGTERM);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, StartsWith("ready\nagain\n"));
  EXPECT_THAT(result.err, HasSubstr("caught\n"));
}

TEST(RunProgramTest, WaitingEndsWithTheProgram) {
  RunningProgram program(shell("echo something >&2"));
  EXPECT_FALSE(program.wait_for("something else"));
  EXPECT_EQ(program.finish().exit_code, 0);
}

TEST(RunProgramTest, EndedBySignal) {
  EXPECT_EQ(run_program(shell("kill -SEGV $$")).exit_code, -SIGSEGV);
}

TEST(RunProgramTest, OneThatHangsIsKilledAndFailsTheTest) {
  static ProgramResult result;
  EXPECT_NONFATAL_FAILURE(
      result = run_program(shell("exec sleep 100"),
                           {.directory = "", .timeout = std::chrono::seconds(1)}),
      "not done after 1 s");
  EXPECT_EQ(result.exit_code, -SIGKILL);
}

}  // namespace
}  // namespace millrace
