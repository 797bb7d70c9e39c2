// Helpers for tests of files that may not be read or written, for any user.
#ifndef MILLRACE_TESTS_ENVIRONMENT_OBEY_PERMISSIONS_H_
#define MILLRACE_TESTS_ENVIRONMENT_OBEY_PERMISSIONS_H_

namespace millrace {

// Makes the calling thread obey the permissions of files while the object exists, even if the user
// is root. Other threads keep their rights. Files keep their owner, so that mode 0555 prevents the
// thread from writing. `access()` checks the rights of the process instead; `faccessat(AT_EACCESS)`
// checks these rights. Fails the test if the rights cannot be dropped.
//
//   ASSERT_EQ(::chmod(folder, 0555), 0);
//   const ObeyPermissions obey;
//   EXPECT_LT(::open(file_in_folder, O_WRONLY | O_CREAT, 0644), 0);
class ObeyPermissions {
 public:
  ObeyPermissions();
  ~ObeyPermissions();
  ObeyPermissions(const ObeyPermissions&) = delete;
  ObeyPermissions& operator=(const ObeyPermissions&) = delete;

 private:
  unsigned before_ = 0;  // effective capabilities
};

// Removes the rights to ignore permissions from the process and all programs that it executes,
// permanently. Makes only system calls, so that it may be called between fork and exec. Returns
// false if root keeps the rights.
bool obey_permissions_for_good();

}  // namespace millrace

#endif  // MILLRACE_TESTS_ENVIRONMENT_OBEY_PERMISSIONS_H_
