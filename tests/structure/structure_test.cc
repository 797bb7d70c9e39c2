// Runs structure.py on this repository, and on generated repositories that break its rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/program_test.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ProgramResult check(const std::string& rule, const std::string& root) {
  const std::string script = std::filesystem::absolute("tests/structure/structure.py").string();
  // Formatting the whole repository takes 15 s on two idle cores.
  return run_program({"/usr/bin/python3", script, rule, root},
                     {.timeout = std::chrono::seconds(150)});
}

// Returns the repository of this test: files in the test's folder are links into the repository.
std::string this_repository() {
  return std::filesystem::canonical("tests/structure/structure.py")
      .parent_path()
      .parent_path()
      .parent_path()
      .string();
}

TEST(RepositoryTest, NoSourceIncludesUpward) {
  const ProgramResult result = check("layers", this_repository());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(RepositoryTest, JobsDependOnPublicTargetsAlone) {
  const ProgramResult result = check("jobs", this_repository());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(RepositoryTest, HelpersOfTestsAreKnownByTheirNames) {
  const ProgramResult result = check("helpers", this_repository());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(RepositoryTest, TargetsHaveTheClassThatTheirIncludesAskFor) {
  const ProgramResult result = check("classes", this_repository());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(RepositoryTest, PrivateHeadersAreIncludedInTheirFolderAlone) {
  const ProgramResult result = check("private", this_repository());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(RepositoryTest, LibrariesDoWithoutWhatTheyNeedNot) {
  const ProgramResult result = check("closure", this_repository());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(RepositoryTest, LinesHaveAtMost100Columns) {
  const ProgramResult result = check("columns", this_repository());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(RepositoryTest, SourcesAreAsClangFormatWritesThem) {
  if (std::getenv("MILLRACE_CLANG_FORMAT") == nullptr) {
    GTEST_SKIP() << skip_not_provided("MILLRACE_CLANG_FORMAT",
                                      "./bazelw test_setup installs clang-format");
  }
  const ProgramResult result = check("format", this_repository());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

// A repository of two folders, `low` below `high`.
class StructureTest : public ProgramTest {
 protected:
  StructureTest() {
    put("tests/structure/layers.txt", "# Lowest first.\nlow\nhigh: bas*\nmiddle peer\nhigh\n");
    for (const char* folder : {"low", "middle", "peer", "high"}) {
      put(absl::StrCat(folder, "/part.h"), "int part();\n");
    }
    put("high/base.h", "#include \"low/part.h\"\n");
  }

  // Writes a file, and creates missing folders.
  void put(const std::string& name, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    write(name, content);
  }

  // Returns the output of a rule for the repository; "" if nothing breaks the rule.
  std::string broken(const std::string& rule) {
    const ProgramResult result = check(rule, path(""));
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.exit_code, result.out.empty() ? 0 : 1);
    return result.out;
  }
};

TEST_F(StructureTest, IncludesMayGoDown) {
  put("high/a.cc", "#include <vector>\n#include \"low/part.h\"\n#include \"high/part.h\"\n");
  put("middle/a.cc", "#include \"absl/status/status.h\"\n#include \"high/base.h\"\n");
  EXPECT_EQ(broken("layers"), "");
}

TEST_F(StructureTest, IncludesMayNotGoUp) {
  put("low/a.cc", "#include \"middle/part.h\"\n");
  put("middle/a.cc", "#include \"high/part.h\"\n");
  EXPECT_EQ(broken("layers"),
            "low/a.cc: includes middle/part.h, which is no lower layer\n"
            "middle/a.cc: includes high/part.h, which is no lower layer\n");
}

TEST_F(StructureTest, FoldersOfOneLayerDoNotIncludeOneAnother) {
  put("peer/a.h", "#include \"middle/part.h\"\n");
  EXPECT_EQ(broken("layers"), "peer/a.h: includes middle/part.h, which is no lower layer\n");
}

TEST_F(StructureTest, AHeaderBelowItsFolderIncludesWhatIsLower) {
  put("high/base.h", "#include \"high/part.h\"\n");
  EXPECT_EQ(broken("layers"), "high/base.h: includes high/part.h, which is no lower layer\n");
}

TEST_F(StructureTest, TestsAndTheirHelpersMayIncludeAll) {
  for (const char* name : {"a_test.cc", "a_testing.h", "a_conformance.cc"}) {
    put(absl::StrCat("low/", name), "#include \"high/part.h\"\n");
  }
  put("tests/a.h", "#include \"high/part.h\"\n");
  EXPECT_EQ(broken("layers"), "");
  put("high/a.h", "#include \"tests/a.h\"\n");
  EXPECT_EQ(broken("layers"), "high/a.h: includes tests/a.h, which is no lower layer\n");
}

TEST_F(StructureTest, GeneratedHeadersHaveTheLayerOfTheirFolder) {
  put("middle/a.cc", "#include \"low/made.pb.h\"\n#include \"google/other.pb.h\"\n");
  EXPECT_EQ(broken("layers"), "");
  put("low/a.cc", "#include \"middle/made.pb.h\"\n");
  EXPECT_EQ(broken("layers"), "low/a.cc: includes middle/made.pb.h, which is no lower layer\n");
}

TEST_F(StructureTest, SourcesIncludeNoHelpersOfTests) {
  put("low/a_testing.h", "");
  put("high/b_testing.h", "#include \"low/a_testing.h\"\n");
  EXPECT_EQ(broken("layers"), "");
  put("high/a.cc", "#include \"low/a_testing.h\"\n");
  EXPECT_EQ(broken("layers"), "high/a.cc: includes low/a_testing.h, which is for tests alone\n");
}

TEST_F(StructureTest, EveryFolderHasALayer) {
  put("other/a.h", "");
  EXPECT_EQ(broken("layers"), "other/a.h: its folder is not in tests/structure/layers.txt\n");
  std::filesystem::remove_all(path("other"));
  std::filesystem::remove_all(path("peer"));
  EXPECT_EQ(broken("layers"), "tests/structure/layers.txt: there is no folder peer\n");
  std::filesystem::remove(path("high/base.h"));
  EXPECT_THAT(broken("layers"), HasSubstr("there is no high/bas*.h\n"));
}

TEST_F(StructureTest, JobsMayNotDependOnPrivateTargets) {
  put("BUILD.bazel",
      "package(default_visibility = [\"//visibility:public\"])\n"
      "[cc_library(name = name) for name in [\"hook\"]]\n");
  put("low/BUILD.bazel",
      "cc_library(name = \"open\", visibility = [\"//visibility:public\"])\n"
      "cc_library(name = \"shut\", visibility = [\"//:internal\"])\n");
  const std::string deps = "deps = [\":x\", \"//:hook\", \"//low:open\", \"@other//:y\"]";
  put("own/BUILD.bazel", absl::StrCat("millrace_job(name = \"job\", ", deps, ")\n"));
  put("examples/a/BUILD.bazel", absl::StrCat("cc_test(name = \"a_test\", ", deps, ")\n"));
  put("middle/BUILD.bazel", "cc_library(name = \"no_job\", deps = [\"//low:shut\"])\n");
  EXPECT_EQ(broken("jobs"), "");
  put("own/BUILD.bazel", "millrace_job(name = \"job\", deps = [\"//low:shut\", \"//gone:x\"])\n");
  put("examples/a/BUILD.bazel", "cc_test(name = \"a_test\", data = [\"//low\"])\n");
  EXPECT_EQ(broken("jobs"),
            "//examples/a:a_test depends on //low, which is not public\n"
            "//own:job depends on //gone:x, which is not public\n"
            "//own:job depends on //low:shut, which is not public\n");
}

TEST_F(StructureTest, AClosureNamesTheWayToWhatItMayNotNeed) {
  put("tests/structure/closures.txt", "# Rules.\n//low:a:: high*:*\n");
  put("low/BUILD.bazel",
      "cc_library(name = \"a\", deps = [\":b\", \"//middle\"])\n"
      "cc_library(name = \"b\")\n");
  put("middle/BUILD.bazel", "cc_library(name = \"middle\")\n");
  EXPECT_EQ(broken("closure"), "");
  put("middle/BUILD.bazel", "cc_library(name = \"middle\", deps = [\"//high:x\"])\n");
  EXPECT_EQ(broken("closure"), "//low:a needs //middle:middle needs //high:x\n");
  put("low/BUILD.bazel", "");
  EXPECT_EQ(broken("closure"), "tests/structure/closures.txt: there is no //low:a\n");
}

TEST_F(StructureTest, LabelsOfJobsAreFoundHoweverTheyAreWritten) {
  put("low/BUILD.bazel", "cc_library(name = \"shut\")\n");
  const auto says = [this](const std::string& build, const std::string& target,
                           const std::string& label) {
    put("examples/a/BUILD.bazel", build);
    EXPECT_EQ(broken("jobs"), absl::StrCat("//examples/a:", target, " depends on ", label,
                                           ", which is not public\n"))
        << build;
  };
  says("cc_test(name = \"t\", deps = [\"@millrace//low:shut\"])\n", "t", "@millrace//low:shut");
  says("[cc_test(name = n, deps = [\"//low:\" + d]) for n, d in [(\"t\", \"shut\")]]\n", "t",
       "//low:shut");
  says("load(\"//low:private.bzl\", \"own\")\nown(program = \"//low:shut\", name = \"t\")\n", "t",
       "//low:shut");
  says("both([cc_library(name = \"t\", deps = [\"//low:shut\"])], name = \"b\")\n", "t",
       "//low:shut");
  says("cc_test(name = \"t\", deps = [] + select({\"//conditions:default\": [\"//low:shut\"]}))\n",
       "t", "//low:shut");
}

TEST_F(StructureTest, ALoadedFileMayBePrivate) {
  put("low/BUILD.bazel", "exports_files([\"a.bzl\"], visibility = [\"//visibility:private\"])\n");
  put("examples/a/BUILD.bazel", "load(\"//low:a.bzl\", \"own\")\nown(name = \"t\")\n");
  EXPECT_EQ(broken("jobs"), "");
}

TEST_F(StructureTest, VisibilityOfTargetsThatALoopMakesIsTheirOwn) {
  put("low/BUILD.bazel",
      "[cc_library(name = n, visibility = [\"//visibility:\" + v])\n"
      " for n, v in [(\"open\", \"public\"), (\"shut\", \"private\")]]\n");
  put("examples/a/BUILD.bazel", "cc_test(name = \"t\", deps = [\"//low:open\", \"//low:shut\"])\n");
  EXPECT_EQ(broken("jobs"), "//examples/a:t depends on //low:shut, which is not public\n");
}

TEST_F(StructureTest, HelpersOfTestsHaveTheirSuffix) {
  put("low/BUILD.bazel",
      "cc_library(name = \"a_testing\", testonly = True, hdrs = [\"a_testing.h\"])\n"
      "cc_library(name = \"b_conformance\", testonly = True, deps = [\":a_testing\"])\n"
      "cc_library(name = \"c\", srcs = [\"c.cc\"])\n"
      "cc_test(name = \"c_test\", deps = [\":a_testing\"])\n");
  put("tests/BUILD.bazel", "cc_library(name = \"fake\", testonly = True)\n");
  EXPECT_EQ(broken("helpers"), "");
  put("low/BUILD.bazel",
      "cc_library(name = \"fake\", testonly = True)\n"
      "cc_library(name = \"a_testing\")\n"
      "cc_library(name = \"b\", hdrs = [\"b_testing.h\"])\n"
      "cc_library(name = \"c\", deps = [\"//high:d_testing\"])\n"
      "cc_binary(name = \"e\", deps = [\":a_conformance\"])\n");
  EXPECT_EQ(broken("helpers"),
            "//low:fake is testonly, but its name ends neither in _testing nor in _conformance\n"
            "//low:a_testing is a helper of tests by its name, but not testonly\n"
            "//low:b has b_testing.h, a helper of tests, but is not testonly\n"
            "//low:c is not testonly and depends on //high:d_testing, a helper of tests\n"
            "//low:e is not testonly and depends on :a_conformance, a helper of tests\n");
  put("low/BUILD.bazel", "package(default_testonly = True)\ncc_library(name = \"x\")\n");
  EXPECT_THAT(broken("helpers"), HasSubstr("//low:x is testonly, but its name"));
}

TEST_F(StructureTest, NarrowerAndWiderClassesAreFound) {
  for (const char* name : {"classify", "include_classes.py"}) {
    const std::string file = absl::StrCat("bazel/precompiled/", name);
    put(file, "");
    std::filesystem::copy_file(this_repository() + "/" + file, path(file),
                               std::filesystem::copy_options::overwrite_existing);
  }
  put("low/a.cc", "#include \"low/part.h\"\n");
  put("low/part.h", "#include <ATen/ATen.h>\n");
  put("low/BUILD.bazel",
      "cc_library(name = \"a\", srcs = [\"a.cc\"])\n"
      "cc_library(name = \"plain\", srcs = [\"plain.cc\"])\n");
  put("low/plain.cc", "#include <vector>\n");
  const std::string classes = "bazel/precompiled/classes.bzl";
  put(classes, "CLASSES = {\"low\": {\"plain\": \"torch\"}}\n");
  EXPECT_EQ(
      broken("classes"),
      "bazel/precompiled/classes.bzl: //low:a has class base, and its includes ask for torch; "
      "run bazel/precompiled/classify --write\n"
      "bazel/precompiled/classes.bzl: //low:plain has class torch, and its includes ask for "
      "base; run bazel/precompiled/classify --write\n");
  ASSERT_EQ(
      run_program({"/usr/bin/python3", path("bazel/precompiled/classify"), "--write"}).exit_code,
      0);
  EXPECT_EQ(broken("classes"), "");
}

TEST_F(StructureTest, PrivateHeadersAreFoundInOtherFolders) {
  put("low/BUILD.bazel",
      "cc_library(name = \"low\", srcs = [\"own.cc\", \"own.h\"], hdrs = [\"part.h\"])\n");
  put("low/own.cc", "#include \"low/own.h\"\n");
  put("high/a.cc", "#include \"low/part.h\"\n");
  EXPECT_EQ(broken("private"), "");
  put("high/a.cc", "#include \"low/own.h\"\n");
  EXPECT_EQ(broken("private"), "high/a.cc: includes low/own.h, which is private to //low:low\n");
}

TEST_F(StructureTest, AnEmptyTreeFails) {
  std::filesystem::create_directory(path("empty"));
  for (const char* rule : {"layers", "jobs", "helpers", "private", "columns", "format"}) {
    const ProgramResult result = check(rule, path("empty"));
    EXPECT_EQ(result.exit_code, 1) << rule;
    EXPECT_THAT(result.out, HasSubstr("/empty: there is no ")) << rule;
    EXPECT_EQ(result.err, "") << rule;
  }
}

TEST_F(StructureTest, LongLinesAreFoundOutsideRawStrings) {
  const std::string hundred(97, 'x');
  put("low/a.cc", absl::StrCat("// ", hundred, "\n// ", hundred, "\xc3\xa9\n"));
  put("low/b.cc", absl::StrCat("f(R\"(", hundred, hundred, "\n", hundred, hundred, ")\");\n"));
  put("low/c.h", absl::StrCat("// ", hundred.substr(1), "\xc3\xa9\n"));
  EXPECT_EQ(broken("columns"), "low/a.cc:2: 101 characters\n");
}

TEST_F(StructureTest, UnformattedSourcesAreFound) {
  if (std::getenv("MILLRACE_CLANG_FORMAT") == nullptr) {
    GTEST_SKIP() << skip_not_provided("MILLRACE_CLANG_FORMAT",
                                      "./bazelw test_setup installs clang-format");
  }
  put(".clang-format", "BasedOnStyle: Google\n");
  std::filesystem::remove(path("high/base.h"));
  EXPECT_EQ(broken("format"), "");
  put("low/a.cc", "int  a;\n");
  EXPECT_THAT(broken("format"), AllOf(HasSubstr("low/a.cc:1:4"), Not(HasSubstr("part.h"))));
}

}  // namespace
}  // namespace millrace
