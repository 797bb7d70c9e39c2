#include "checkpoint/folder/referred_files.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/format/chunk_digests.h"
#include "io/transform/transform_registry.h"

namespace millrace {
namespace {

TEST(FileIdentityTest, IsThatOfAFileOfACheckpoint) {
  MemoryFileSystem files;
  for (const size_t size : {size_t{0}, size_t{3}, size_t{kChunkBytes}, size_t{kChunkBytes + 5}}) {
    std::string content(size, 'x');
    if (size > 0) content.back() = 'y';
    ASSERT_OK(write_file_atomically(files, "/f", content));
    ASSERT_OK_AND_ASSIGN(const FileIdentity identity, identify_file(files, "/f"));
    EXPECT_EQ(identity.size_bytes, static_cast<int64_t>(size));
    EXPECT_EQ(identity.digest, format_digest(file_digest(chunks_of("f", content).digests)));
  }
  // The example of docs/checkpoint_format.md.
  ASSERT_OK(write_file_atomically(files, "/f", "abc"));
  EXPECT_EQ(identify_file(files, "/f")->digest, "f758394eebabb2bb51ee911f78f31836");
  EXPECT_THAT(identify_file(files, "/none").status(), StatusIs(absl::StatusCode::kNotFound));
}

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Reads two files.
class Lookup : public Transform {
 public:
  Takes takes() const override { return Takes::kIntegers; }
  std::vector<std::string> files() const override { return {"/words", "/others"}; }
  absl::Status apply(const FeatureInput&, FeatureValues*) const override {
    return absl::OkStatus();
  }
};
MILLRACE_REGISTER_TRANSFORM(lookup, "",
                            [](const CustomConfig&) { return std::make_unique<Lookup>(); });

// Features "a" and "b" read the first path, "b" in its second transform, "c" the other.
TrainConfig config(const std::string& shared, const std::string& own) {
  TrainConfig train;
  const std::string first = "vocabulary { path: '" + shared + "' }";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "feature { name: 'a' transform { " + first +
          " } } "
          "feature { name: 'b' transform { hash {} } transform { " +
          first +
          " } } "
          "feature { name: 'c' transform { vocabulary { path: '" +
          own +
          "' } } } "
          "feature { name: 'd' transform { hash {} } }",
      &train));
  return train;
}

class ReferredFilesTest : public testing::Test {
 protected:
  ReferredFilesTest() {
    write("/words", "x\ny\n");
    write("/others", "z\n");
  }
  void write(const std::string& path, const std::string& text) {
    EXPECT_OK(write_file_atomically(files_, path, text));
  }
  std::vector<CheckpointManifest::ReferredFile> find(const std::string& shared = "/words",
                                                     const std::string& own = "/others") {
    auto found = find_vocabularies(config(shared, own), files_);
    EXPECT_OK(found.status());
    return *std::move(found);
  }
  MemoryFileSystem files_;
};

TEST_F(ReferredFilesTest, EachVocabularyIsThereOnceWithWhoReadsIt) {
  const auto found = find();
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].path(), "/others");
  EXPECT_EQ(found[0].size(), 2);
  EXPECT_THAT(found[0].used_by(), ElementsAre("feature/c/transform/0"));
  EXPECT_EQ(found[1].path(), "/words");
  EXPECT_THAT(found[1].used_by(), ElementsAre("feature/a/transform/0", "feature/b/transform/1"));
  EXPECT_THAT(find_vocabularies(config("/none", "/words"), files_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
  EXPECT_THAT(refer_to("/caf\xe9", {}, {}).status(), StatusIs(kInvalid, HasSubstr("UTF-8")));
}

TEST_F(ReferredFilesTest, FilesOfRegisteredTransformsAreCompared) {
  TrainConfig train;
  train.add_feature()->set_name("a");
  CustomConfig& custom = *train.mutable_feature(0)->add_transform()->mutable_custom();
  custom.set_name("lookup");
  CheckpointManifest manifest;
  ASSERT_OK_AND_ASSIGN(const auto before, find_vocabularies(train, files_));
  ASSERT_EQ(before.size(), 2);
  EXPECT_THAT(before[0].used_by(), ElementsAre("feature/a/transform/0/file/1"));
  EXPECT_THAT(before[1].used_by(), ElementsAre("feature/a/transform/0"));
  add_referred_files(before, &manifest);
  write("/others", "y\n");
  ASSERT_OK_AND_ASSIGN(const auto after, find_vocabularies(train, files_));
  EXPECT_THAT(check_vocabularies(manifest, after),
              StatusIs(kInvalid, AllOf(HasSubstr("/others for feature/a/transform/0/file/1"),
                                       Not(HasSubstr("/words")))));
  custom.set_name("lokup");
  EXPECT_THAT(find_vocabularies(train, files_).status(),
              StatusIs(kInvalid, HasSubstr("feature/a/transform/0: no transform \"lokup\"")));
}

TEST_F(ReferredFilesTest, AreAddedByPath) {
  CheckpointManifest manifest;
  ASSERT_OK_AND_ASSIGN(const auto rows, refer_to("/rows", {5, "d"}, {"table/t"}));
  ASSERT_OK_AND_ASSIGN(const auto both, refer_to("/words", {4, "e"}, {"table/u"}));
  add_referred_files({rows, both}, &manifest);
  add_referred_files(find(), &manifest);
  ASSERT_EQ(manifest.referred_files_size(), 3);
  EXPECT_EQ(manifest.referred_files(0).path(), "/others");
  EXPECT_EQ(manifest.referred_files(1).path(), "/rows");
  EXPECT_EQ(manifest.referred_files(2).path(), "/words");
  EXPECT_EQ(manifest.referred_files(2).used_by_size(), 3);
}

TEST_F(ReferredFilesTest, AVocabularyThatChangedIsRefusedWhereverItLies) {
  CheckpointManifest manifest;
  add_referred_files(find(), &manifest);
  EXPECT_OK(check_vocabularies(manifest, find()));
  write("/moved", "x\ny\n");
  EXPECT_OK(check_vocabularies(manifest, find("/moved")));
  write("/words", "y\nx\n");
  EXPECT_THAT(
      check_vocabularies(manifest, find()),
      StatusIs(kInvalid, AllOf(HasSubstr("/words for "), HasSubstr("4 bytes"),
                               HasSubstr("feature/a/transform/0"), Not(HasSubstr("/others")))));
  // Added or removed features are checked elsewhere, and files that are not read again need no
  // check.
  EXPECT_OK(check_vocabularies(manifest, {}));
  EXPECT_OK(check_vocabularies(CheckpointManifest(), find()));
}

}  // namespace
}  // namespace millrace
