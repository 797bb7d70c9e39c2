#include "base/memory_file_system_testing.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file_system.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

constexpr absl::StatusCode kDenied = absl::StatusCode::kPermissionDenied;

// Both file systems do the same things in the same way.
class LikeLocalTest : public testing::TestWithParam<bool> {
 protected:
  LikeLocalTest() {
    root_ = join_path(testing::TempDir(), "memory_file_system_test");
    remove_recursively(files(), root_).IgnoreError();
    EXPECT_OK(files().create_directories(root_));
  }
  FileSystem& files() {
    return GetParam() ? static_cast<FileSystem&>(memory_) : FileSystem::local();
  }
  std::string at(const std::string& name) { return join_path(root_, name); }

  MemoryFileSystem memory_;
  std::string root_;
};
INSTANTIATE_TEST_SUITE_P(All, LikeLocalTest, testing::Bool());

TEST_P(LikeLocalTest, WritesAndReads) {
  ASSERT_OK_AND_ASSIGN(auto out, files().create(at("a")));
  ASSERT_OK(out->append("hello"));
  ASSERT_OK(out->sync());
  ASSERT_OK(out->close());
  ASSERT_OK_AND_ASSIGN(auto more, files().open_for_append(at("a")));
  ASSERT_OK(more->append(" world"));
  ASSERT_OK_AND_ASSIGN(auto in, files().open(at("a")));
  EXPECT_EQ(in->size_bytes(), 11);
  char buffer[8] = {};
  EXPECT_THAT(in->read_at(6, 8, buffer), IsOkAndHolds(5));
  EXPECT_EQ(std::string(buffer, 5), "world");
  EXPECT_THAT(in->read_at(99, 1, buffer), IsOkAndHolds(0));
  ASSERT_OK_AND_ASSIGN(auto placed, files().create_new(at("b"), 4));
  ASSERT_OK(placed->write_at(1, "x"));
  EXPECT_THAT(read_file(files(), at("b")), IsOkAndHolds(std::string("\0x\0\0", 4)));
  EXPECT_THAT(files().create_new(at("b"), 4), StatusIs(kDenied));
  EXPECT_THAT(files().create(at("no/c")), StatusIs(kDenied));
  ASSERT_OK(files().create(at("a")).status());
  EXPECT_THAT(read_file(files(), at("a")), IsOkAndHolds(""));
}

TEST_P(LikeLocalTest, Directories) {
  ASSERT_OK(files().create_directories(at("d/e")));
  ASSERT_OK(files().create_directories(at("d/e")));
  ASSERT_OK(files().create(at("d/f")).status());
  EXPECT_THAT(files().list(at("d")),
              IsOkAndHolds(ElementsAre(DirectoryEntry{"e", FileKind::kDirectory},
                                       DirectoryEntry{"f", FileKind::kRegular})));
  EXPECT_THAT(files().glob(at("*/f")), IsOkAndHolds(ElementsAre(at("d/f"))));
  EXPECT_THAT(files().list(at("no")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(files().list(at("d/f")), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(files().open(at("d")), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(files().create(at("d/e")), StatusIs(kDenied));
  EXPECT_THAT(files().create_directories(at("d/f/g")), StatusIs(kDenied));
  EXPECT_OK(files().sync_directory(at("d")));
  EXPECT_THAT(files().sync_directory(at("no")), StatusIs(kDenied));
  EXPECT_FALSE(files().remove(at("d")).ok()) << "not empty";
  EXPECT_OK(files().remove(at("d/e")));
  EXPECT_THAT(files().remove(at("d/e")), StatusIs(kDenied));
  ASSERT_OK_AND_ASSIGN(const FileInfo info, files().link_info(at("d")));
  EXPECT_EQ(info.kind, FileKind::kDirectory);
  EXPECT_THAT(files().info(at("no")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_OK(files().free_bytes(at("d")));
}

TEST_P(LikeLocalTest, Renames) {
  ASSERT_OK(files().create_directories(at("d")));
  ASSERT_OK(write_file_atomically(files(), at("d/f"), "x"));
  ASSERT_OK(files().create_directories(at("full/sub")));
  ASSERT_OK(files().create_directories(at("empty")));
  EXPECT_FALSE(files().rename(at("d"), at("full")).ok());
  EXPECT_OK(files().rename(at("d"), at("empty")));
  EXPECT_THAT(read_file(files(), at("empty/f")), IsOkAndHolds("x"));
  EXPECT_THAT(files().rename(at("d"), at("e")), StatusIs(kDenied));
  EXPECT_FALSE(files().rename(at("empty/f"), at("full")).ok());
}

TEST_P(LikeLocalTest, Links) {
  ASSERT_OK(files().create_directories(at("d")));
  ASSERT_OK(write_file_atomically(files(), at("a"), "x"));
  ASSERT_OK(link_file(files(), at("a"), at("d/b")));
  EXPECT_THAT(link_file(files(), at("a"), at("d/b")), StatusIs(kDenied));
  EXPECT_THAT(link_file(files(), at("no"), at("c")), StatusIs(kDenied));
  EXPECT_THAT(link_file(files(), at("a"), at("no/c")), StatusIs(kDenied));
  EXPECT_FALSE(link_file(files(), at("d"), at("e")).ok()) << "a directory";
  ASSERT_OK_AND_ASSIGN(auto out, files().open_for_append(at("a")));
  ASSERT_OK(out->append("y"));
  ASSERT_OK(files().remove(at("a")));
  EXPECT_THAT(read_file(files(), at("d/b")), IsOkAndHolds("xy"));
}

TEST_P(LikeLocalTest, Locks) {
  ASSERT_OK_AND_ASSIGN(auto lock, files().lock(at("lock")));
  ASSERT_OK(lock->write("me"));
  EXPECT_THAT(files().lock(at("lock")), IsOkAndHolds(testing::IsNull()));
  EXPECT_THAT(read_file(files(), at("lock")), IsOkAndHolds("me"));
  lock.reset();
  EXPECT_THAT(files().lock(at("lock")), IsOkAndHolds(testing::NotNull()));
}

TEST(MemoryFileSystemTest, ASmallDiskFillsUp) {
  MemoryFileSystem files;
  files.set_capacity(10);
  const auto full = StatusIs(absl::StatusCode::kResourceExhausted);
  files.put("d/a", "1234");
  EXPECT_EQ(files.used_bytes(), 4);
  EXPECT_THAT(files.free_bytes("d"), IsOkAndHolds(6));
  EXPECT_THAT(files.create_new("b", 7), full);
  EXPECT_THAT(files.info("b"), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(auto out, files.create("b"));
  EXPECT_OK(out->append("123456"));
  EXPECT_THAT(out->append("7"), full);
  ASSERT_OK(files.remove("d/a"));
  EXPECT_OK(out->append("7"));
  EXPECT_EQ(files.used_bytes(), 7);
}

TEST(MemoryFileSystemTest, AFileWithTwoNamesCountsOnce) {
  MemoryFileSystem files;
  files.put("a", "1234");
  ASSERT_OK(files.link("a", "b"));
  ASSERT_OK(files.link("a", "c"));
  EXPECT_EQ(files.used_bytes(), 4);
  ASSERT_OK(files.remove("a"));
  EXPECT_EQ(files.used_bytes(), 4);
  files.put("d", "12");
  ASSERT_OK(files.rename("d", "b"));
  EXPECT_EQ(files.used_bytes(), 6);
  ASSERT_OK(files.remove("c"));
  EXPECT_EQ(files.used_bytes(), 2);
}

TEST(MemoryFileSystemTest, FingerprintsOfTrees) {
  auto fingerprint = [](const std::vector<std::pair<std::string, std::string>>& tree) {
    MemoryFileSystem files;
    for (const auto& [path, content] : tree) files.put(path, content);
    return files.fingerprint();
  };
  EXPECT_EQ(fingerprint({{"a/b", "x"}, {"c", "y"}}), fingerprint({{"c", "y"}, {"/a/b", "x"}}));
  EXPECT_NE(fingerprint({{"a/b", "x"}}), fingerprint({{"a/b", "y"}}));
  EXPECT_NE(fingerprint({{"a/b", "x"}}), fingerprint({{"a", "x"}}));
  EXPECT_NE(fingerprint({{"a", ""}, {"b", "x"}}), fingerprint({{"a", "x"}, {"b", ""}}));
}

}  // namespace
}  // namespace millrace
