// Runs check_command_lines.py on README.md and docs, and on pages with mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A command line of each kind.
constexpr char kSound[] = R"(
The command `millrace explain OUTPUT_DIR` is a span.
```
millrace list metric   # a comment
./bazelw build //tools:millrace
bazel-bin/tests/campaigns/checkpoints --campaign=kills
bazel/build_times /tmp/profile.gz &
torchrun --no-python --nproc-per-node 2 \
    millrace list metric
tensorboard --logdir out
ls out
```
)";

// Returns the repository of this test: files in the test's folder are links into the repository.
std::string this_repository() {
  return fs::canonical("tests/docs/check_command_lines.py")
      .parent_path()
      .parent_path()
      .parent_path()
      .string();
}

ProgramResult check(std::vector<std::string> pages) {
  std::vector<std::string> arguments = {"/usr/bin/python3",
                                        fs::absolute("tests/docs/check_command_lines.py").string(),
                                        this_repository(), millrace_path()};
  arguments.insert(arguments.end(), pages.begin(), pages.end());
  // The program starts about 50 times for all pages, which takes 20 s on two cores.
  return run_program(arguments, {.timeout = std::chrono::seconds(280)});
}

TEST(CommandLinesTest, OfThePagesAreRight) {
  const ProgramResult result = check({});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  // Prints the number of lines of each kind.
  std::cout << result.out;
}

class PageTest : public ProgramTest {
 protected:
  // Returns the lines that the check prints for a page, without the path of the page.
  std::vector<std::string> lines_for(const std::string& page, int exit_code) {
    write("page.md", page);
    const ProgramResult result = check({path("page.md")});
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.exit_code, exit_code) << result.out;
    std::vector<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
    for (std::string& line : lines) {
      if (line.find(path("page.md")) == 0) line.erase(0, path("page.md:").size());
    }
    return lines;
  }

  // Returns the output of the check for a correct page with these lines added as a block.
  std::vector<std::string> mistakes(const std::string& block) {
    std::vector<std::string> lines = lines_for(std::string(kSound) + block, 1);
    if (!lines.empty()) lines.pop_back();
    return lines;
  }
};

TEST_F(PageTest, ASoundPageHasNoMistake) {
  EXPECT_THAT(lines_for(kSound, 0),
              ElementsAre("millrace: 2, span: 1, bazelw: 1, built: 1, script: 1, launcher: 1, "
                          "tool: 1, shell: 1"));
}

TEST_F(PageTest, WithoutCommandLinesEachKindIsMissing) {
  EXPECT_THAT(
      lines_for("# A page\n```\ntrain { max_steps: 1 }\n```\n```text\nfrobnicate out\n```\n", 1),
      ElementsAre("no command line of kind millrace", "no command line of kind span",
                  "no command line of kind bazelw", "no command line of kind built",
                  "no command line of kind script", "no command line of kind launcher",
                  "no command line of kind tool", "no command line of kind shell",
                  "millrace: 0, span: 0, bazelw: 0, built: 0, script: 0, launcher: 0, tool: 0, "
                  "shell: 0"));
}

TEST_F(PageTest, NamesWrongCommandLinesOfTheProgram) {
  EXPECT_THAT(
      mistakes("```sh\nmillrace train x --bogus\nmillrace trains x\n"
               "millrace train job.textproto --set train.max_epocs=2\n"
               "millrace bench idmap --rows many\nmillrace launch -n 2 --bogus -- train x\n"
               "millrace launch -n 2 -- train x --bogus\n```\n"),
      ElementsAre(HasSubstr(": millrace train x --bogus: exit code 64: millrace: there is no flag "
                            "--bogus"),
                  HasSubstr(": exit code 64: millrace: there is no command trains"),
                  HasSubstr(": exit code 64: millrace: --set: train.max_epocs"),
                  HasSubstr(": millrace: Could not convert: --rows = many"),
                  HasSubstr(": millrace: there is no flag --bogus"),
                  HasSubstr(": exit code 64: millrace: there is no flag --bogus")));
}

TEST_F(PageTest, NamesWrongSpans) {
  EXPECT_THAT(mistakes("`millrace trains` and `millrace checkpoint list --bogus`\nand "
                       "`millrace checkpoint show` and `./bazelw test //tests/nowhere:all`\n"),
              ElementsAre("13: millrace trains: there is no command trains",
                          "13: millrace checkpoint list --bogus: millrace checkpoint list has no "
                          "flag --bogus",
                          "14: ./bazelw test //tests/nowhere:all: there is no "
                          "tests/nowhere/BUILD.bazel for //tests/nowhere:all"));
}

TEST_F(PageTest, NamesWrongTargets) {
  EXPECT_THAT(
      mistakes("```\n./bazelw build //tools:milrace\n./bazelw test //nowhere/...\n"
               "./bazelw test --bogus //...\n./bazelw build --config=slow //...\n"
               "./bazelw run //tools:millrace -- train x --bogus\n"
               "./bazelw run //examples/own_job -- train --bogus\n"
               "./bazelw query //...\n./bazelw build\nbazel-bin/tools/milrace train\n```\n"),
      ElementsAre("14: ./bazelw build //tools:milrace: tools/BUILD.bazel has no target milrace",
                  "15: ./bazelw test //nowhere/...: there is no folder nowhere for //nowhere/...",
                  "16: ./bazelw test --bogus //...: the table has no flag --bogus",
                  "17: ./bazelw build --config=slow //...: .bazelrc has no configuration slow",
                  HasSubstr("18: ./bazelw run //tools:millrace -- train x --bogus: exit code 64"),
                  HasSubstr(": millrace train has no flag --bogus"),
                  "20: ./bazelw query //...: ./bazelw has no command query",
                  "21: ./bazelw build: no target",
                  "22: bazel-bin/tools/milrace train: tools/BUILD.bazel has no target milrace"));
}

TEST_F(PageTest, NamesWrongProgramsAndFlags) {
  EXPECT_THAT(
      mistakes(
          "```\nfrobnicate out\nls out | frobnicate\ntorchrun --ranks 2 millrace list\n"
          "T=\"torchrun --no-python\"\nfor I in 0 1; do $T millrace list --bogus & done; wait\n"
          "#SBATCH --tasks 8\nkubectl apply --bogus\nkubectl frob x\nsrun\n"
          "docker run millrace train x --bogus\necho 'x\nREADME.md\ntools/README\n```\n"),
      ElementsAre(HasSubstr("14: frobnicate out: unknown program frobnicate; add it to"),
                  HasSubstr("15: ls out | frobnicate: unknown program frobnicate"),
                  HasSubstr(": the table has no flag --ranks"),
                  HasSubstr(": millrace: there is no flag --bogus"),
                  HasSubstr(": the table has no flag --tasks"),
                  HasSubstr(": the table has no flag --bogus"),
                  HasSubstr(": tests/docs/programs.py does not have kubectl frob x"),
                  HasSubstr(": the command behind the flags is missing"),
                  HasSubstr(": millrace: there is no flag --bogus"),
                  HasSubstr(": No closing quotation"), HasSubstr(": unknown program README.md"),
                  HasSubstr(": unknown program tools/README")));
}

TEST_F(PageTest, OutputBehindPromptsIsNoCommandLine) {
  EXPECT_THAT(mistakes("```\n$ millrace hooks describe nothing\nfrobnicate out\n```\n"),
              ElementsAre(StartsWith("14: millrace hooks describe nothing: exit code 64: ")));
}

}  // namespace
}  // namespace millrace
