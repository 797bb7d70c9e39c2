// Helpers for tests of the millrace program.
#ifndef MILLRACE_TESTS_E2E_PROGRAM_TEST_H_
#define MILLRACE_TESTS_E2E_PROGRAM_TEST_H_

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/run_program.h"

namespace millrace {

// Exit codes of the program (docs/exit_codes.md).
inline constexpr int kUsage = 64;
inline constexpr int kBadData = 65;
inline constexpr int kNoInput = 66;
inline constexpr int kBug = 70;
inline constexpr int kMachine = 71;
inline constexpr int kCannotWrite = 73;
inline constexpr int kRunAgain = 75;
inline constexpr int kPeer = 76;
inline constexpr int kEvaluation = 79;
inline constexpr int kDiverged = 80;
inline constexpr int kPart = 81;

// Returns the path of the tested program. REQUIRES: the test has //tools:millrace as data.
std::string millrace_path();

// A fixture with a folder per test, which is the working directory of its programs.
class ProgramTest : public testing::Test {
 protected:
  ProgramTest();

  // Runs `millrace ARGUMENTS...`.
  ProgramResult millrace(std::vector<std::string> arguments,
                         std::chrono::seconds timeout = std::chrono::seconds(30)) const;
  // Does the same and expects exit code 0.
  ProgramResult millrace_ok(std::vector<std::string> arguments,
                            std::chrono::seconds timeout = std::chrono::seconds(30)) const;

  // All names are relative to the folder. A file that is missing or not JSON fails the test.
  std::string path(const std::string& name) const;
  bool exists(const std::string& name) const;
  void write(const std::string& name, const std::string& content) const;
  std::string read(const std::string& name) const;
  nlohmann::json read_json(const std::string& name) const;
  std::vector<nlohmann::json> read_json_lines(const std::string& name) const;
  // Returns the newest checkpoint of an output directory, relative to the folder; "" if there is
  // none.
  std::string newest_checkpoint(const std::string& output_dir) const;
  // Returns the content digests of the newest checkpoint: equal texts mean equal models, optimizer
  // states and tables.
  std::string content_of(const std::string& output_dir) const;
  // Returns every file below a folder, relative to this folder, sorted.
  std::vector<std::string> files_below(const std::string& name) const;

 private:
  const std::string directory_;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_E2E_PROGRAM_TEST_H_
