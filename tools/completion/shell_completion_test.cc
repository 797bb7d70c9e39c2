#include "tools/completion/shell_completion.h"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the completions of bash for `words`, where the last word is incomplete.
std::vector<std::string> completed(const std::vector<std::string>& words) {
  CLI::App program("", "millrace");
  CLI::App* const train = program.add_subcommand("train", "");
  train->add_option("CONFIG");
  train->add_option("--max_steps");
  train->add_option("-m,--max_epochs");
  CLI::App* const config = program.add_subcommand("config", "");
  config->add_subcommand("check", "")->add_flag("--json");
  config->add_subcommand("plot", "");
  const std::string path = testing::TempDir() + "/completion.sh";
  std::ofstream(path) << bash_completion(program) << "COMP_WORDS=(" << absl::StrJoin(words, " ")
                      << ")\nCOMP_CWORD=" << words.size() - 1
                      << "\n_millrace\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  std::FILE* const bash = ::popen(absl::StrCat("bash ", path, " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 256> buffer;
  while (std::fgets(buffer.data(), buffer.size(), bash) != nullptr) text += buffer.data();
  EXPECT_EQ(::pclose(bash), 0) << text;
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

TEST(ShellCompletionTest, CommandsAndFlags) {
  EXPECT_THAT(completed({"millrace", "''"}), ElementsAre("train", "config", "--help"));
  EXPECT_THAT(completed({"millrace", "tr"}), ElementsAre("train"));
  EXPECT_THAT(completed({"millrace", "train", "--max"}),
              ElementsAre("--max_steps", "--max_epochs"));
  EXPECT_THAT(completed({"millrace", "train", "job.textproto", "--max_e"}),
              ElementsAre("--max_epochs"));
  EXPECT_THAT(completed({"millrace", "config", "c"}), ElementsAre("check"));
  EXPECT_THAT(completed({"millrace", "config", "check", "--j"}), ElementsAre("--json"));
}

TEST(ShellCompletionTest, PathsAreLeftToTheShell) {
  EXPECT_THAT(completed({"millrace", "train", "job"}), IsEmpty());
}

}  // namespace
}  // namespace millrace
