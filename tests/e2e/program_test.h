// What tests of the millrace program share.
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

// The path of the program that is tested. REQUIRES: the test has //tools:millrace as data.
std::string millrace_path();

// A fixture with a folder of the test's own, where its programs stand.
class ProgramTest : public testing::Test {
 protected:
  ProgramTest();

  // `millrace ARGUMENTS...`.
  ProgramResult millrace(std::vector<std::string> arguments,
                         std::chrono::seconds timeout = std::chrono::seconds(30)) const;
  // The same, expecting exit code 0.
  ProgramResult millrace_ok(std::vector<std::string> arguments,
                            std::chrono::seconds timeout = std::chrono::seconds(30)) const;

  // All names are relative to the folder. A file that is missing or no JSON fails the test.
  std::string path(const std::string& name) const;
  bool exists(const std::string& name) const;
  void write(const std::string& name, const std::string& content) const;
  std::string read(const std::string& name) const;
  nlohmann::json read_json(const std::string& name) const;
  std::vector<nlohmann::json> read_json_lines(const std::string& name) const;
  // The newest checkpoint of an output directory, relative to the folder; "" if it has none.
  std::string newest_checkpoint(const std::string& output_dir) const;
  // What it says its content is: equal texts are equal models, optimizer states and tables.
  std::string content_of(const std::string& output_dir) const;
  // Every file below a folder, relative to it, sorted.
  std::vector<std::string> files_below(const std::string& name) const;

 private:
  const std::string directory_;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_E2E_PROGRAM_TEST_H_
