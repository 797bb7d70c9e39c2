// Runs check_configurations.py on docs/how_do_i.md and on pages with mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>

#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ProgramResult check(const std::string& page) {
  // Files in the test's folder are links into the repository.
  const fs::path folder = fs::canonical("tests/docs/check_configurations.py").parent_path();
  const std::string how_do_i = (folder.parent_path().parent_path() / "docs/how_do_i.md").string();
  // A program starts for each configuration, which takes 10 s on two idle cores.
  return run_program({"/usr/bin/python3", fs::absolute("tests/docs/check_configurations.py"),
                      page.empty() ? how_do_i : page, fs::absolute("tests/docs/job.textproto"),
                      millrace_path(), fs::absolute("examples/own_job/own_job")},
                     {.timeout = std::chrono::seconds(200)});
}

TEST(ConfigurationsTest, OfThePageAreValid) {
  const ProgramResult result = check("");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  // Prints the number of configurations for each program.
  std::cout << result.out;
}

class PageTest : public ProgramTest {
 protected:
  // Returns the output of the check for a page with `setting` in a section, and with a section of
  // own parts.
  std::string output_for(const std::string& setting, int exit_code) {
    write("page.md",
          "# Page\n```\n" + setting +
              "\n```\n## Own parts\n```\ntrain { model { name: \"one_layer\" } }\n```\n");
    const ProgramResult result = check(path("page.md"));
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.exit_code, exit_code) << result.out;
    const std::string prefix = path("page.md:");
    return result.out.find(prefix) == 0 ? result.out.substr(prefix.size()) : result.out;
  }
};

TEST_F(PageTest, FieldsAreSetInTheJob) {
  EXPECT_EQ(output_for("train { max_epochs: 2 table { name: \"item\" dim: 16 }\n"
                       "feature { name: \"tags\" } table { name: 'tags' dim: 16 } } # new ones",
                       0),
            "millrace: 1, own_job: 1\n");
}

TEST_F(PageTest, NamesAFieldThatDoesNotExist) {
  EXPECT_THAT(output_for("train { max_epocs: 2 }", 1),
              AllOf(StartsWith("3: millrace: job.textproto:"),
                    HasSubstr("TrainConfig has no field \"max_epocs\"")));
}

TEST_F(PageTest, NamesAValueThatTheJobRefuses) {
  EXPECT_THAT(output_for("train { table { name: \"item\" dim: 0 } }", 1),
              HasSubstr("train.table[0] \"item\": dim is 0"));
  EXPECT_THAT(output_for("train { model { name: \"one_layer\" } }", 1),
              HasSubstr("no model \"one_layer\" is linked into this program"));
}

TEST_F(PageTest, NamesAnErrorOfSyntax) {
  EXPECT_THAT(output_for("train { max_epochs: 2", 1), StartsWith("3: } is missing\n"));
  EXPECT_THAT(output_for("train { max_epochs 2 }", 1), StartsWith("3: max_epochs has no value\n"));
}

TEST_F(PageTest, WithoutConfigurationsThereIsNoneForAProgram) {
  write("empty.md", "# Page\n```sh\nmillrace list\n```\n");
  const ProgramResult result = check(path("empty.md"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out,
            "no configuration for millrace\nno configuration for own_job\n"
            "millrace: 0, own_job: 0\n");
}

}  // namespace
}  // namespace millrace
