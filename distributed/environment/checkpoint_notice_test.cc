#include "distributed/environment/checkpoint_notice.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "distributed/environment/variables_testing.h"

namespace millrace {
namespace {

void notify(const std::string& file, int64_t step) {
  notify_launcher_of_checkpoint(getter({{kCheckpointNotice, file}}), step);
}

TEST(CheckpointNoticeTest, TheLauncherReadsTheHighestStep) {
  const int file = ::memfd_create(kCheckpointFile, MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(last_noticed_step(file), -1);
  for (const int64_t step : {10, 200, 30}) notify(absl::StrCat(file), step);
  notify_launcher_of_checkpoint(getter({}), 400);
  notify("x", 400);
  EXPECT_EQ(last_noticed_step(file), 200);
  ::close(file);
}

TEST(CheckpointNoticeTest, WritesToNoOtherFile) {
  const std::string path = testing::TempDir() + "/checkpoint_notice";
  const int files[] = {::open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600),
                       ::memfd_create("another", MFD_CLOEXEC)};
  for (const int file : files) {
    ASSERT_GE(file, 0);
    notify(absl::StrCat(file), 7);
    EXPECT_EQ(::lseek(file, 0, SEEK_END), 0);
    ::close(file);
    notify(absl::StrCat(file), 7);
  }
}

}  // namespace
}  // namespace millrace
