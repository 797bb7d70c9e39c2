// Tests the digest of the headers shared by the program and its plugins, computed from the headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "plugin/header_digest.h"
#include "plugin/plugin_build.h"
#include "plugin/sha256.h"

namespace millrace {
namespace {

using ::testing::IsSupersetOf;

const std::vector<std::string> kRoots = {"embedding/embedding_collection.h", "plugin/plugin_abi.h",
                                         "hook/hook.h", "hook/hook_registry.h",
                                         "hook/hook_statistics.h"};

std::string text_of(const std::string& runfile) {
  const absl::StatusOr<std::string> text = read_file(FileSystem::local(), runfile);
  EXPECT_OK(text.status());
  return text.value_or("");
}

std::string digest(const HeaderTexts& texts) {
  const absl::StatusOr<HeaderDigest> digest = digest_headers(texts, kRoots);
  EXPECT_OK(digest.status());
  return digest.ok() ? digest->digest : "";
}

class BorderDigestTest : public testing::Test {
 protected:
  BorderDigestTest()
      : headers_(absl::StrSplit(text_of("plugin/border_digest.txt"), '\n', absl::SkipEmpty())) {
    for (const std::string& header : headers_) texts_[header] = text_of(header);
  }

  // Exchanges two lines of a header.
  void swap_lines(const std::string& header, const std::string& a, const std::string& b) {
    std::string& text = texts_[header];
    const size_t at_a = text.find(a), at_b = text.find(b);
    ASSERT_NE(at_a, std::string::npos) << a;
    ASSERT_NE(at_b, std::string::npos) << b;
    ASSERT_LT(at_a, at_b);
    text.replace(at_b, b.size(), a);
    text.replace(at_a, a.size(), b);
  }

  const std::vector<std::string> headers_;
  HeaderTexts texts_;
};

TEST_F(BorderDigestTest, IsThatOfTheHeaders) {
  EXPECT_TRUE(is_sha256(kBorderDigest));
  EXPECT_EQ(digest(texts_), kBorderDigest);
}

TEST_F(BorderDigestTest, CoversWhatHooksGet) {
  EXPECT_THAT(headers_, IsSupersetOf({"base/progress.h", "embedding/embedding_collection.h",
                                      "hook/events.h", "hook/hook.h", "hook/hook_registry.h",
                                      "hook/phase.h", "hook/requests.h", "io/batch.h",
                                      "plugin/plugin_abi.h", "proto/config.pb.h"}));
}

TEST_F(BorderDigestTest, ChangesWithTheOrderOfTheFunctionsOfHook) {
  swap_lines("hook/hook.h", "  virtual absl::Status before_epoch(HookContext& context);\n",
             "  virtual absl::Status after_epoch(HookContext& context);\n");
  EXPECT_NE(digest(texts_), kBorderDigest);
}

TEST_F(BorderDigestTest, ChangesWithTheOrderOfTheFunctionsOfHookContext) {
  swap_lines("hook/hook.h", "  virtual int rank() const = 0;\n",
             "  virtual int world_size() const = 0;\n");
  EXPECT_NE(digest(texts_), kBorderDigest);
}

TEST_F(BorderDigestTest, ChangesWithAMemberOfWhatEventsGive) {
  std::string& text = texts_["base/progress.h"];
  const size_t end = text.rfind("};");
  ASSERT_NE(end, std::string::npos);
  text.insert(end, "  int added = 0;\n");
  EXPECT_NE(digest(texts_), kBorderDigest);
}

TEST_F(BorderDigestTest, CommentsDoNotChangeIt) {
  for (auto& [header, text] : texts_) text = absl::StrCat("// Another.\n\n", text, "/* end */\n");
  EXPECT_EQ(digest(texts_), kBorderDigest);
}

}  // namespace
}  // namespace millrace
