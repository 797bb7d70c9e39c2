// Runs check_workspace.py on examples/workspace and docs, and on copies with one error each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns the repository of this test: files in the test's folder are links into the repository.
fs::path this_repository() {
  return fs::canonical("tests/workspace/check_workspace.py")
      .parent_path()
      .parent_path()
      .parent_path();
}

ProgramResult check(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {"/usr/bin/python3", fs::absolute("tests/workspace/check_workspace.py").string(),
                    this_repository().string()});
  return run_program(arguments);
}

TEST(WorkspaceTest, UsesPublicNamesAndPagesShowFilesAsTheyAre) {
  const ProgramResult result = check({});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

class CheckWorkspaceTest : public ProgramTest {
 protected:
  // Returns the output of the check for the workspace in which `text` of a file is replaced.
  std::string broken(const std::string& file, const std::string& text,
                     const std::string& replacement) {
    return check_copy("examples/workspace", file, text, replacement, {path("copy")});
  }

  // Returns the output of the check for the pages in which `text` of one page is replaced.
  std::string broken_page(const std::string& page, const std::string& text,
                          const std::string& replacement) {
    return check_copy("docs", page, text, replacement, {"--docs", path("copy")});
  }

 private:
  // Returns the output of the check with `arguments` after `text` of a file of a copied folder is
  // replaced.
  std::string check_copy(const char* folder, const std::string& file, const std::string& text,
                         const std::string& replacement,
                         const std::vector<std::string>& arguments) {
    fs::remove_all(path("copy"));
    fs::copy(this_repository() / folder, path("copy"));
    std::string content = read("copy/" + file);
    const size_t place = content.find(text);
    if (place == std::string::npos) {
      ADD_FAILURE() << file << " has no " << text;
      return "";
    }
    write("copy/" + file, content.replace(place, text.size(), replacement));
    const ProgramResult result = check(arguments);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.exit_code, result.out.empty() ? 0 : 1);
    return result.out;
  }
};

TEST_F(CheckWorkspaceTest, ACopyIsSound) {
  EXPECT_EQ(broken("main.cc", "// The millrace program", "// A program"), "");
}

TEST_F(CheckWorkspaceTest, NamesATargetThatIsPrivateOrMissing) {
  EXPECT_EQ(broken("BUILD.bazel", "\"@millrace//:run_job\"",
                   "\"@millrace//:run_job\", \"@millrace//tools\""),
            "//:visits depends on @millrace//tools, which is private\n");
  EXPECT_EQ(broken("BUILD.bazel", "\"@millrace//:run_job\"",
                   "\"@millrace//:run_job\", \"@millrace//:run_jobs\""),
            "//:visits depends on @millrace//:run_jobs, which does not exist\n");
  EXPECT_EQ(broken("BUILD.bazel", "[\"visits.textproto\"]",
                   "[\"visits.textproto\", \"@millrace//proto:cursor.proto\"]"),
            "//:visits depends on @millrace//proto:cursor.proto, which is private\n");
}

TEST_F(CheckWorkspaceTest, NamesAHeaderThatIsPrivateOrMissing) {
  EXPECT_EQ(broken("linear_model.cc", "models/mlp.h", "models/multilayer.h"),
            "//:parts: linear_model.cc includes models/multilayer.h, which does not exist\n"
            "linear_model.cc uses millrace::make_mlp, which no header has that it includes\n");
  EXPECT_EQ(broken("linear_model.cc", "#include \"models/mlp.h\"",
                   "#include \"models/mlp.h\"\n#include \"tools/cli.h\""),
            "//:parts: linear_model.cc includes tools/cli.h of //tools:tools, "
            "which no public target in its deps has\n");
}

TEST_F(CheckWorkspaceTest, NamesAHeaderWhosePublicTargetIsNoDependence) {
  EXPECT_EQ(broken("BUILD.bazel", "        \"@millrace//:metric_conformance\",\n", ""),
            "//:conformance_test: conformance_test.cc includes metrics/metric_conformance.h of "
            "//metrics:metric_conformance, which no public target in its deps has\n");
}

TEST_F(CheckWorkspaceTest, NamesWhatAHeaderDoesNotDefine) {
  EXPECT_EQ(
      broken("hit_share_metric.cc", "MILLRACE_REGISTER_METRIC(", "MILLRACE_METRIC(hit_share, "),
      "hit_share_metric.cc uses MILLRACE_METRIC, which no header defines that it includes\n"
      "visits.textproto names the part hit_share, which nothing registers\n");
  EXPECT_EQ(
      broken("hit_share_metric.cc", "millrace::MetricDirection", "millrace::Directions"),
      "hit_share_metric.cc uses millrace::Directions, which no header has that it includes\n");
}

TEST_F(CheckWorkspaceTest, NamesWhatALoadedFileDoesNotDefine) {
  EXPECT_EQ(broken("WORKSPACE", "\"millrace_repositories\"", "\"repositories\""),
            "WORKSPACE loads repositories of @millrace//third_party:repositories.bzl, which does "
            "not define it\n");
  EXPECT_EQ(broken("BUILD.bazel", "third_party:proto.bzl", "proto:proto.bzl"),
            "BUILD.bazel loads @millrace//proto:proto.bzl, which does not exist\n");
  EXPECT_EQ(broken("WORKSPACE", "name = \"millrace\"", "name = \"mill\""),
            "WORKSPACE declares no repository millrace\n");
}

TEST_F(CheckWorkspaceTest, NamesPartsAndExtensionsOfTheConfiguration) {
  EXPECT_EQ(broken("visits.textproto", "name: \"linear\"", "name: \"lineal\""),
            "visits.textproto names the part lineal, which nothing registers\n"
            "no configuration names the part linear\n");
  EXPECT_EQ(broken("visits.textproto", "[visits.hit_share]", "[visits.hit_shar]"),
            "visits.textproto has [visits.hit_shar], which no .proto declares\n");
}

TEST_F(CheckWorkspaceTest, NamesAPartThatMillraceHas) {
  EXPECT_EQ(broken("hit_share_metric.cc", "METRIC(hit_share,", "METRIC(mse,"),
            "the part mse has the name of a part of Millrace\n"
            "visits.textproto names the part hit_share, which nothing registers\n"
            "no configuration names the part mse\n");
}

TEST_F(CheckWorkspaceTest, NamesAFlagThatIsMissing) {
  EXPECT_EQ(broken(".bazelrc", "build --force_pic", "# --force_pic"),
            ".bazelrc lacks --force_pic\n");
}

TEST_F(CheckWorkspaceTest, NamesAFileThatAPageShowsInAnotherForm) {
  EXPECT_EQ(broken_page("extending.md", "    path = \"../millrace\",", "    path = \"../mill\","),
            "extending.md shows another WORKSPACE than that of examples/workspace\n");
  EXPECT_EQ(broken_page("extending.md", "`main.cc`:", "The main function:"),
            "extending.md does not name main.cc of examples/workspace\n");
}

TEST_F(CheckWorkspaceTest, ExcerptsMayHaveAnotherIndentation) {
  EXPECT_EQ(broken_page("conformance.md", "  config.set_name(\"one_layer\");",
                        "      config.set_name(\"one_layer\");"),
            "");
}

TEST_F(CheckWorkspaceTest, NamesAnExcerptThatItsFileDoesNotHave) {
  EXPECT_EQ(broken_page("extending.md", "  resources.log = &std::cerr;", "  resources.log = &log;"),
            "extending.md shows lines that examples/own_program/own_program.cc does not have, from "
            "\"absl::StatusOr<Summary> train(const std::string& path) {\"\n");
  EXPECT_EQ(broken_page("conformance.md", "  config.set_name(\"one_layer\");\n", ""),
            "conformance.md shows lines that examples/own_job/conformance_test.cc does not have, "
            "from \"[[maybe_unused]] const bool kOneLayer = register_model_conformance("
            "\"OneLayer\", {.config = [] {\"\n");
  EXPECT_EQ(broken_page("conformance.md", "examples/own_job/own_job_test.cc`:",
                        "examples/own_job/own_jobs_test.cc`:"),
            "conformance.md shows examples/own_job/own_jobs_test.cc, which does not exist\n");
}

TEST_F(CheckWorkspaceTest, NamesPiecesOfAnExcerptInAnotherOrder) {
  EXPECT_EQ(broken_page("conformance.md", "SinkConformance of(FaultySink::Fault fault) {",
                        "[[maybe_unused]] const bool kFile =\n// …\n"
                        "SinkConformance of(FaultySink::Fault fault) {"),
            "conformance.md shows lines that framework/report/sink_conformance_test.cc does not "
            "have, from \"SinkConformance of(FaultySink::Fault fault) {\"\n");
}

TEST_F(CheckWorkspaceTest, NamesAnExcerptThatIsTooLong) {
  EXPECT_EQ(broken_page("conformance.md", "  config.set_name(\"one_layer\");",
                        "  config.set_name(\"one_layer\");" + std::string(26, '\n')),
            "conformance.md shows 31 lines of examples/own_job/conformance_test.cc; at most 30\n");
}

TEST_F(CheckWorkspaceTest, NamesAFamilyWithoutASection) {
  EXPECT_THAT(broken_page("conformance.md", "## Row filter\n", "## Row filters\n"),
              AllOf(HasSubstr("conformance.md has the sections Model, Hook, "),
                    HasSubstr("they must be the families of extending.md: model, hook, ")));
  EXPECT_THAT(broken_page("extending.md", "| row filter | `RowFilter`", "| filter | `RowFilter`"),
              HasSubstr("extending.md has other families in the table of Tests than in that of "
                        "Families\n"));
}

TEST_F(CheckWorkspaceTest, NamesASectionWithoutItsSuite) {
  EXPECT_EQ(broken_page("conformance.md", "`framework/report/sink_conformance.h`", "the suite"),
            "conformance.md does not name framework/report/sink_conformance.h in the section "
            "Sink\n");
  EXPECT_EQ(broken_page("conformance.md", "From `examples/own_job/own_job_test.cc`:", "Such as:"),
            "conformance.md has no excerpt with register_hook_conformance in the section Hook\n");
}

}  // namespace
}  // namespace millrace
