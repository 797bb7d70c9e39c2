#include "plugin/header_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string strip(absl::string_view text) {
  const absl::StatusOr<std::string> stripped = strip_header(text);
  EXPECT_OK(stripped.status());
  return stripped.value_or("");
}

std::string digest(const HeaderTexts& texts) {
  const absl::StatusOr<HeaderDigest> digest = digest_headers(texts, {"a/hook.h"});
  EXPECT_OK(digest.status());
  return digest.ok() ? digest->digest : "";
}

TEST(HeaderDigestTest, CommentsAndWhiteSpaceAreLeftOut) {
  EXPECT_EQ(strip("int a;  // one\n\n  int /* two\n lines */ b ;\n"), "int a;int b;");
  EXPECT_EQ(strip("int f(\n    int a,  // of it\n    int b);\n"), strip("int f(int a, int b);"));
  EXPECT_EQ(strip("// goes on \\\n int hidden;\nint seen;"), "int seen;");
  EXPECT_EQ(strip("int a;\r\nint b;"), "int a;int b;");
}

TEST(HeaderDigestTest, TokensStayApart) {
  EXPECT_EQ(strip("unsigned\nint a;"), "unsigned int a;");
  EXPECT_EQ(strip("unsigned/**/int a;"), "unsigned int a;");
  EXPECT_NE(strip("a - -b"), strip("a --b"));
  EXPECT_NE(strip("vector<vector<int> >"), strip("vector<vector<int>>"));
}

TEST(HeaderDigestTest, DirectivesKeepTheirLines) {
  EXPECT_EQ(strip("int a;\n  #define F(x) \\\n  (x)  // f\nint b;\n"),
            "int a;\n#define F(x) (x)\nint b;");
  EXPECT_NE(strip("#define F (x)\n"), strip("#define F(x)\n"));
  EXPECT_NE(strip("#define F\nint a;"), strip("#define F int a;"));
  EXPECT_EQ(strip("#error don't // say\nint a;"), "#error don't\nint a;");
}

TEST(HeaderDigestTest, LiteralsAreUnchanged) {
  EXPECT_EQ(strip(R"(a("http://x  y \" // z") // end)"), R"(a("http://x  y \" // z"))");
  EXPECT_EQ(strip("char a = '\"';  // b"), "char a = '\"';");
  EXPECT_EQ(strip("char a = '\\'', b = '/';  // c"), "char a = '\\'',b = '/';");
  EXPECT_EQ(strip("int a = 1'000'000;  // b's"), "int a = 1'000'000;");
  EXPECT_EQ(strip("f(R\"x(// \" )\" /* )x\") // end"), "f(R\"x(// \" )\" /* )x\")");
  EXPECT_EQ(strip("\"/*\" a /* b */ \"*/\""), "\"/*\" a \"*/\"");
}

TEST(HeaderDigestTest, NamesWhatHasNoEnd) {
  EXPECT_THAT(std::string(strip_header("int a;\n/* b").status().message()),
              HasSubstr("line 2: a comment has no end"));
  EXPECT_THAT(std::string(strip_header("R\"(b").status().message()),
              HasSubstr("line 1: a raw string has no end"));
}

constexpr char kHook[] =
    "#include \"a/events.h\"\n#include <vector>\n"
    "class Hook {\n  virtual void start();\n  virtual void end();\n};\n";

TEST(HeaderDigestTest, ChangesWithTheOrderOfVirtuals) {
  const HeaderTexts texts = {{"a/hook.h", kHook}, {"a/events.h", "struct Window { int n; };"}};
  HeaderTexts other = texts;
  other["a/hook.h"] =
      "#include \"a/events.h\"\n#include <vector>\n"
      "class Hook {\n  virtual void end();\n  virtual void start();\n};\n";
  EXPECT_NE(digest(other), digest(texts));
}

TEST(HeaderDigestTest, CommentsDoNotChangeIt) {
  const HeaderTexts texts = {{"a/hook.h", kHook}};
  EXPECT_EQ(digest({{"a/hook.h", absl::StrCat("// Watches.\n", kHook, "\n/* end */")}}),
            digest(texts));
}

TEST(HeaderDigestTest, ChangesWithHeadersThatAreIncluded) {
  const HeaderTexts texts = {{"a/hook.h", kHook},
                             {"a/events.h", "#include \"beside.h\"\n"},
                             {"a/beside.h", "#include <b/far.h>\n"},
                             {"b/far.h", "struct Progress { int step; };"},
                             {"b/other.h", "struct Other {};"}};
  ASSERT_OK_AND_ASSIGN(const HeaderDigest all, digest_headers(texts, {"a/hook.h"}));
  EXPECT_THAT(all.headers, ElementsAre("a/beside.h", "a/events.h", "a/hook.h", "b/far.h"));
  HeaderTexts other = texts;
  other["b/far.h"] = "struct Progress { int64_t step; };";
  EXPECT_NE(digest(other), all.digest);
  other = texts;
  other["b/other.h"] = "";
  EXPECT_EQ(digest(other), all.digest);
}

TEST(HeaderDigestTest, HeadersThatIncludeEachOtherCountOnce) {
  const HeaderTexts texts = {{"a/hook.h", kHook}, {"a/events.h", "#include \"a/hook.h\"\n"}};
  ASSERT_OK_AND_ASSIGN(const HeaderDigest all, digest_headers(texts, {"a/hook.h", "a/events.h"}));
  EXPECT_THAT(all.headers, ElementsAre("a/events.h", "a/hook.h"));
}

TEST(HeaderDigestTest, ARootMustBeGiven) {
  const absl::Status status = digest_headers({}, {"a/hook.h"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a/hook.h"));
}

}  // namespace
}  // namespace millrace
