#include "tools/launch/launcher_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

TEST(LauncherOutputTest, ARankRecognizesTheFiles) {
  const std::string folder = fresh_test_dir();
  const auto open = [&](const std::string& name) {
    return ::open((folder + name).c_str(), O_WRONLY | O_CREAT, 0644);
  };
  const int out = open("/log"), err = open("/errors"), other = open("/other");
  ::unsetenv("MILLRACE_LAUNCHER_OUTPUT");
  EXPECT_FALSE(is_launcher_output(folder + "/log")) << "no launcher";
  const std::string variable = launcher_output_variable(out, err);
  const size_t equals = variable.find('=');
  ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  EXPECT_TRUE(is_launcher_output(folder + "/log"));
  EXPECT_TRUE(is_launcher_output(folder + "/errors"));
  EXPECT_FALSE(is_launcher_output(folder + "/other"));
  EXPECT_FALSE(is_launcher_output(folder + "/none"));
  for (const int descriptor : {out, err, other}) ::close(descriptor);
  ::unsetenv("MILLRACE_LAUNCHER_OUTPUT");
}

}  // namespace
}  // namespace millrace
