// Runs Python programs whose hosts are network namespaces (hosts.py).
#ifndef MILLRACE_TESTS_HOSTS_RUN_ON_HOSTS_H_
#define MILLRACE_TESTS_HOSTS_RUN_ON_HOSTS_H_

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/run_program.h"

namespace millrace {

// Runs a program of the repository with these arguments in the current test. Skips the test if
// hosts.enter() says that the machine allows no hosts, and fails it if the program fails.
inline void run_on_hosts(const std::string& program, std::vector<std::string> arguments = {},
                         std::chrono::seconds timeout = std::chrono::seconds(240)) {
  constexpr int kSkipped = 77;  // SKIPPED of hosts.py
  arguments.insert(arguments.begin(),
                   {"/usr/bin/python3", "-B", std::filesystem::absolute(program).string()});
  const ProgramResult result = run_program(std::move(arguments), {.timeout = timeout});
  if (result.exit_code == kSkipped) GTEST_SKIP() << result.out;
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace millrace

#endif  // MILLRACE_TESTS_HOSTS_RUN_ON_HOSTS_H_
