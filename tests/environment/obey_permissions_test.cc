#include "tests/environment/obey_permissions.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace millrace {
namespace {

class ObeyPermissionsTest : public testing::Test {
 protected:
  ObeyPermissionsTest() : folder_(testing::TempDir() + "/closed-XXXXXX") {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    EXPECT_EQ(::chmod(folder_.c_str(), 0555), 0);
  }
  ~ObeyPermissionsTest() override {
    ::unlink((folder_ + "/a").c_str());
    ::rmdir(folder_.c_str());
  }
  bool may_write() const {
    const int fd = ::open((folder_ + "/a").c_str(), O_WRONLY | O_CREAT, 0644);
    if (fd >= 0) ::close(fd);
    return fd >= 0;
  }

  std::string folder_;
};

TEST_F(ObeyPermissionsTest, AsLongAsItExists) {
  const bool before = may_write();
  ::unlink((folder_ + "/a").c_str());
  {
    const ObeyPermissions obey;
    EXPECT_FALSE(may_write());
    EXPECT_NE(::faccessat(AT_FDCWD, folder_.c_str(), W_OK, AT_EACCESS), 0);
  }
  EXPECT_EQ(may_write(), before);
}

TEST_F(ObeyPermissionsTest, ForGoodAlsoInWhatIsExecuted) {
  const std::string script = "! ( : > " + folder_ + "/a ) 2> /dev/null";
  const pid_t child = ::fork();
  if (child == 0) {
    if (!obey_permissions_for_good()) ::_exit(2);
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace millrace
