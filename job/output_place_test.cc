#include "job/output_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/status_matchers.h"
#include "tests/environment/obey_permissions.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr auto kDenied = absl::StatusCode::kPermissionDenied;

TEST(OutputPlaceTest, TheDirectoryAboveDecides) {
  FileSystem& files = FileSystem::local();
  const std::string folder = fresh_test_dir();
  EXPECT_OK(check_output_place(files, folder + "/p.parquet"));
  EXPECT_OK(check_output_place(files, "p.parquet")) << "where the program stands";
  EXPECT_THAT(check_output_place(files, folder + "/no/p.parquet"),
              StatusIs(kDenied, "cannot write " + folder + "/no/p.parquet: there is no directory " +
                                    folder + "/no; make it, or choose another"));
  ASSERT_OK(write_file_atomically(files, folder + "/file", "mine"));
  EXPECT_THAT(check_output_place(files, folder + "/file/p.parquet").message(),
              HasSubstr("cannot write " + folder + "/file/p.parquet"));
}

TEST(OutputPlaceTest, AFileIsNoDirectory) {
  FileSystem& files = FileSystem::local();
  const std::string folder = fresh_test_dir();
  EXPECT_OK(check_output_file(files, folder + "/model.pt"));
  ASSERT_OK(write_file_atomically(files, folder + "/model.pt", "an older one"));
  EXPECT_OK(check_output_file(files, folder + "/model.pt"));
  EXPECT_THAT(check_output_file(files, folder), StatusIs(kDenied, folder + " is a directory"));
  EXPECT_THAT(check_output_file(files, "/dev/null"),
              StatusIs(kDenied, HasSubstr("no regular file")));
  EXPECT_THAT(check_output_file(files, ""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(check_output_file(files, folder + "/no/model.pt"),
              StatusIs(kDenied, HasSubstr("no directory")));
}

TEST(OutputPlaceTest, ADirectoryThatMayNotBeWrittenTo) {
  const std::string folder = fresh_test_dir();
  std::filesystem::permissions(folder, std::filesystem::perms(0555));
  const ObeyPermissions obey;
  EXPECT_THAT(check_output_place(FileSystem::local(), folder + "/p.parquet"),
              StatusIs(kDenied, HasSubstr(folder + " is not writable")));
  std::filesystem::permissions(folder, std::filesystem::perms(0777));
}

}  // namespace
}  // namespace millrace
