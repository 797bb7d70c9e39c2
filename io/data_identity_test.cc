#include "io/data_identity.h"

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DataIdentityTest : public testing::Test {
 protected:
  std::string write(const std::string& path, const std::string& content) {
    const std::string whole = join_path(testing::TempDir(), path);
    EXPECT_OK(FileSystem::local().create_directories(directory_of(whole)));
    EXPECT_OK(write_file_atomically(FileSystem::local(), whole, content));
    return whole;
  }
  DataIdentity identity(const std::vector<std::string>& paths) {
    absl::StatusOr<DataIdentity> identity = data_identity(FileSystem::local(), paths);
    EXPECT_OK(identity);
    return *std::move(identity);
  }
};

TEST_F(DataIdentityTest, NamesSizesAndEnds) {
  const DataIdentity data = identity({write("a/x.csv", "abc"), write("a/y.csv", "")});
  ASSERT_EQ(data.file_size(), 2);
  EXPECT_EQ(data.file(0).name(), "x.csv");
  EXPECT_EQ(data.file(0).size(), 3);
  EXPECT_EQ(data.file(0).end_digest(), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(data.file(1).end_digest(), "99aa06d3014798d86001c324468d497f");
}

TEST_F(DataIdentityTest, TheFolderPlaysNoRole) {
  EXPECT_THAT(data_differences(identity({write("a/x", "abc")}), identity({write("b/x", "abc")})),
              IsEmpty());
}

TEST_F(DataIdentityTest, DifferencesAreNamed) {
  const std::string large(100 << 10, 'x');
  std::string other_end = large;
  other_end.back() = 'y';
  const DataIdentity before =
      identity({write("a/1", "abc"), write("a/2", "abc"), write("a/3", large)});
  EXPECT_THAT(
      data_differences(before, identity({write("b/1", "abcd"), write("b/other", "abc"),
                                         write("b/3", other_end)})),
      ElementsAre("1 has 4 bytes, not 3", "file 2 is other, not 2", "3 ends with other bytes"));
  EXPECT_THAT(data_differences(before, identity({write("a/1", "abc")})),
              ElementsAre("there is 1 file, not 3"));
  EXPECT_THAT(data_differences(before, DataIdentity()), IsEmpty()) << "not known";
}

TEST_F(DataIdentityTest, TheDigestOfASmallFileCoversAllBytes) {
  constexpr int64_t kBytes = 3 << 20;
  std::string content(kBytes, 'x');
  const std::string path = write("a/large", content);
  for (const bool whole : {true, false}) {
    const auto digest = [&]() -> std::string {
      const auto identity = data_identity(FileSystem::local(), {path}, /*may_be_missing=*/false,
                                          whole ? kBytes : kBytes - 1);
      EXPECT_OK(identity);
      return identity->file(0).end_digest();
    };
    content[1 << 20] = 'x';
    write("a/large", content);
    const std::string before = digest();
    content[1 << 20] = 'y';
    write("a/large", content);
    EXPECT_EQ(digest() == before, !whole);
  }
}

TEST_F(DataIdentityTest, ManyDifferencesAreCounted) {
  DataIdentity before, now;
  for (int i = 0; i < 10; ++i) {
    before.add_file()->set_name("a");
    now.add_file()->set_name("b");
  }
  EXPECT_THAT(data_differences(before, now, 2),
              ElementsAre("file 1 is b, not a", "file 2 is b, not a", "and 8 more"));
}

TEST_F(DataIdentityTest, AFileThatIsNotThere) {
  EXPECT_THAT(data_identity(FileSystem::local(), {testing::TempDir() + "/none"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(DataIdentityTest, AFileThatMayBeMissing) {
  const std::string path = testing::TempDir() + "/none";
  ASSERT_OK_AND_ASSIGN(const DataIdentity missing,
                       data_identity(FileSystem::local(), {path}, /*may_be_missing=*/true));
  EXPECT_THAT(data_differences(missing, missing), IsEmpty());
  DataIdentity there = missing;
  there.mutable_file(0)->set_size(0);
  EXPECT_THAT(data_differences(missing, there), ElementsAre("none is there, and was missing"));
  EXPECT_THAT(data_differences(there, missing), ElementsAre("none is missing"));
}

}  // namespace
}  // namespace millrace
