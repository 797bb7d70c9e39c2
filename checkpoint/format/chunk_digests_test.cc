#include "checkpoint/format/chunk_digests.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/hash.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAbc[] = "06b05ab6733a618578af5f94892f3950";

absl::uint128 digest(const std::string& text) { return parse_digest(text).value(); }

TEST(ChunkDigestsTest, CountsAndSizes) {
  EXPECT_EQ(chunk_count(0), 0);
  EXPECT_EQ(chunk_count(1), 1);
  EXPECT_EQ(chunk_count(kChunkBytes), 1);
  EXPECT_EQ(chunk_count(kChunkBytes + 1), 2);
  EXPECT_EQ(chunk_size(kChunkBytes + 1, 0), kChunkBytes);
  EXPECT_EQ(chunk_size(kChunkBytes + 1, 1), 1);
  EXPECT_EQ(chunk_count(INT64_MAX), INT64_MAX / kChunkBytes + 1);
}

// The figures of docs/checkpoint_format.md.
TEST(ChunkDigestsTest, GoldenDigestsOfFiles) {
  const FileChunks abc = chunks_of("a", "abc");
  EXPECT_THAT(abc.digests, ElementsAre(digest(kAbc)));
  EXPECT_EQ(format_digest(file_digest(abc.digests)), "f758394eebabb2bb51ee911f78f31836");
  EXPECT_EQ(format_digest(file_digest(chunks_of("a", "").digests)),
            "99aa06d3014798d86001c324468d497f");
}

TEST(ChunkDigestsTest, ChunksAreCutAt16MiB) {
  std::string content(2 * kChunkBytes + 3, 'x');
  content.replace(content.size() - 3, 3, "abc");
  const FileChunks file = chunks_of("a", content);
  const absl::uint128 whole = xxh3_128(std::string(kChunkBytes, 'x'));
  EXPECT_THAT(file.digests, ElementsAre(whole, whole, digest(kAbc)));
}

TEST(ChunkDigestsTest, GoldenFile) {
  const std::vector<FileChunks> files = {
      {"state-00000-of-00001.pb", 3, {digest(kAbc)}},
      {"dense-00000-of-00001.safetensors",
       20971520,
       {digest("0d1a8f9c3b2e4f5061728394a5b6c7d8"), digest("b419baaa46f05afeb802637efc04b8cc")}},
      {"empty", 0, {}}};
  const std::string text =
      "millrace chunks 1 16777216\n"
      "dense-00000-of-00001.safetensors 20971520\n"
      "0d1a8f9c3b2e4f5061728394a5b6c7d8\n"
      "b419baaa46f05afeb802637efc04b8cc\n"
      "empty 0\n"
      "state-00000-of-00001.pb 3\n"
      "06b05ab6733a618578af5f94892f3950\n";
  EXPECT_EQ(format_chunks(files), text);
  EXPECT_THAT(parse_chunks(text), IsOkAndHolds(ElementsAre(files[1], files[2], files[0])));
  EXPECT_THAT(parse_chunks(format_chunks({})), IsOkAndHolds(ElementsAre()));
}

TEST(ChunkDigestsTest, EveryOtherTextIsRefused) {
  const std::string first = "millrace chunks 1 16777216\n";
  const std::string abc = std::string(kAbc) + "\n";
  const std::string bad[] = {
      "",
      "x",
      first.substr(0, first.size() - 1),
      "millrace chunks 1 16777217\n",
      "millrace chunks 0 16777216\n",
      first + "\n",
      first + "a 3",
      first + "a 3\n",
      first + "a 3\n" + kAbc,
      first + "a  3\n" + abc,
      first + "a 03\n" + abc,
      first + "a +3\n" + abc,
      first + "a -3\n",
      first + "a 3 \n" + abc,
      first + "a 0\n" + abc,
      first + "a 3\n" + abc + abc,
      first + "a 3\nA" + abc.substr(1),
      first + "b 0\na 0\n",
      first + "a 0\na 0\n",
      first + " 0\n",
      first + "../a 0\n",
      first + "/a 0\n",
      first + ". 0\n",
      first + ".a 0\n",
      first + "a/b 0\n",
      first + std::string("a\0b 0\n", 6),
      first + std::string(256, 'a') + " 0\n",
      first + "a 9223372036854775808\n",
      first + "a 9223372036854775807\n" + abc,
  };
  for (const std::string& text : bad) {
    EXPECT_THAT(parse_chunks(text), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("line")))
        << text;
  }
  EXPECT_OK(parse_chunks(first + std::string(255, 'a') + " 0\n"));
}

TEST(ChunkDigestsTest, NewerVersionsAreNamed) {
  EXPECT_THAT(parse_chunks("millrace chunks 2 1048576\nwhatever\n"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("version 2")));
}

}  // namespace
}  // namespace millrace
