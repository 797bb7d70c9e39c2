// Tests of files that may not be read or written, for any user.
#ifndef MILLRACE_TESTS_ENVIRONMENT_OBEY_PERMISSIONS_H_
#define MILLRACE_TESTS_ENVIRONMENT_OBEY_PERMISSIONS_H_

namespace millrace {

// Makes the calling thread obey the permissions of files as long as the object exists, also where
// the user is root. Other threads keep their rights. Files keep their owner, so that mode 0555
// keeps the thread from writing. `access()` asks for the rights of the process and not for these;
// `faccessat(AT_EACCESS)` does. A failure to give the rights up fails the test.
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

// Takes the rights to pass over permissions from this process and whatever it executes, for good.
// Calls nothing but the system, so that it may stand between fork and exec.
// Returns: false if root keeps them.
bool obey_permissions_for_good();

}  // namespace millrace

#endif  // MILLRACE_TESTS_ENVIRONMENT_OBEY_PERMISSIONS_H_
