// Runs structure.py on this repository, and on made-up ones that break its rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

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
  return run_program({"/usr/bin/python3", script, rule, root});
}

// The repository that this test is part of: files in the test's folder are links into it.
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

  // Writes a file, in folders that are made if missing.
  void put(const std::string& name, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    write(name, content);
  }

  // What a rule says of the repository; "" if nothing breaks it.
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
