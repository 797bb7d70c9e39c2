#include "checkpoint/folder/content_digests.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/hash.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

// The example of docs/checkpoint_format.md.
TEST(ContentDigestsTest, GoldenTensor) {
  const float values[] = {1, -2};
  const absl::string_view bytes(reinterpret_cast<const char*>(values), sizeof(values));
  const int64_t shape[] = {2};
  EXPECT_EQ(format_digest(dense_tensor_digest("fc.bias", TensorType::kF32, shape, bytes)),
            "eb0591d57da0c9b26b86de1b9fcddfe4");
}

TEST(ContentDigestsTest, GoldenRow) {
  const int64_t id = 7, frequency = 3, last_step = 9;
  const float numbers[] = {1, -2, 0.5};
  std::string row(reinterpret_cast<const char*>(&id), 8);
  row.append(reinterpret_cast<const char*>(numbers), 12);
  row.append(reinterpret_cast<const char*>(&frequency), 8);
  row.append(reinterpret_cast<const char*>(&last_step), 8);
  EXPECT_EQ(format_digest(xxh3_128(row)), "65589e566ca399837d26aee3649db286");
}

class ContentDigestsFileTest : public testing::Test {
 protected:
  ContentDigestsFileTest() {
    folder_ = testing::TempDir() + "/content_digests_test";
    remove_recursively(files_, folder_).IgnoreError();
    EXPECT_OK(files_.create_directories(folder_));
  }
  FileSystem& files_ = FileSystem::local();
  std::string folder_;
};

// The digest in the manifest was computed from memory.
TEST_F(ContentDigestsFileTest, FilesGiveWhatTheManifestSays) {
  for (const int64_t rows : {0, 1, 5, 10000}) {
    ASSERT_OK(write_small_checkpoint(files_, folder_, {.step = rows, .rows = rows}));
    const std::string path = folder_ + (rows == 10000 ? "/step-00010000" : "/step-0000000") +
                             (rows == 10000 ? "" : std::to_string(rows));
    ASSERT_OK_AND_ASSIGN(auto reader, CheckpointReader::open(files_, path));
    for (const int count : {1, 3}) {
      ThreadPool threads(count);
      ASSERT_OK_AND_ASSIGN(const auto digests,
                           compute_content_digests(*reader, DigestOf::kEverything, threads));
      EXPECT_EQ(digests.size(), 2u);
      for (const auto& stated : reader->manifest().content_digests()) {
        EXPECT_EQ(format_digest(digests.at(stated.name())), stated.digest()) << stated.name();
      }
    }
  }
}

TEST_F(ContentDigestsFileTest, OtherValuesOtherDigests) {
  ASSERT_OK(write_small_checkpoint(files_, folder_, {.step = 1, .seed = 1}));
  ASSERT_OK(write_small_checkpoint(files_, folder_, {.step = 2, .seed = 2}));
  ASSERT_OK_AND_ASSIGN(auto a, CheckpointReader::open(files_, folder_ + "/step-00000001"));
  ASSERT_OK_AND_ASSIGN(auto b, CheckpointReader::open(files_, folder_ + "/step-00000002"));
  ThreadPool threads(1);
  ASSERT_OK_AND_ASSIGN(const auto of_a,
                       compute_content_digests(*a, DigestOf::kEverything, threads));
  ASSERT_OK_AND_ASSIGN(const auto of_b,
                       compute_content_digests(*b, DigestOf::kEverything, threads));
  EXPECT_NE(of_a.at("dense"), of_b.at("dense"));
  EXPECT_NE(of_a.at("table/items"), of_b.at("table/items"));
}

// The example of docs/checkpoint_format.md.
TEST(CombinedContentDigestTest, IsThatOfNamesAndDigestsInOrder) {
  CheckpointManifest manifest;
  const auto add = [&](const std::string& name, const std::string& digest) {
    auto* entry = manifest.add_content_digests();
    entry->set_name(name);
    entry->set_digest(digest);
  };
  EXPECT_EQ(format_digest(combined_content_digest(manifest)), "99aa06d3014798d86001c324468d497f");
  add("table/items", "65589e566ca399837d26aee3649db286");
  add("dense", "eb0591d57da0c9b26b86de1b9fcddfe4");
  std::string bytes = "dense";
  bytes += '\0' + digest_bytes(*parse_digest("eb0591d57da0c9b26b86de1b9fcddfe4")) + "table/items";
  bytes += '\0' + digest_bytes(*parse_digest("65589e566ca399837d26aee3649db286"));
  EXPECT_EQ(combined_content_digest(manifest), xxh3_128(bytes));
  EXPECT_EQ(format_digest(combined_content_digest(manifest)), "68ab7813a369d5aaf1f4da32b6c32e95");
  std::swap(*manifest.mutable_content_digests(0), *manifest.mutable_content_digests(1));
  EXPECT_EQ(combined_content_digest(manifest), xxh3_128(bytes)) << "whatever their order";
}

}  // namespace
}  // namespace millrace
