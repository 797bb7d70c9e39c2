// Reasons to skip a test case, in the form that `.ci/run` counts and checks.
#ifndef MILLRACE_TESTS_ENVIRONMENT_SKIP_H_
#define MILLRACE_TESTS_ENVIRONMENT_SKIP_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace millrace {

// All functions return the text for GTEST_SKIP():
//
//   if (CPU_COUNT(&cpus) < 2) GTEST_SKIP() << skip_hardware("two CPUs", "one CPU only");
//
// Under CI=true, a skip without one of these forms fails the run, as does a skip whose `feature`
// the machine has: `tests/ci/skipped_cases.py` has a probe for each feature. A missing package
// fails the run, too: `./bazelw test_setup` installs the packages of the tests.

// The kernel, or the permissions of processes on this machine, lack `feature`.
inline std::string skip_kernel_feature(absl::string_view feature, absl::string_view why) {
  return absl::StrCat("kernel: ", feature, ": ", why);
}

// The processor lacks `feature`.
inline std::string skip_hardware(absl::string_view feature, absl::string_view why) {
  return absl::StrCat("hardware: ", feature, ": ", why);
}

// The environment variable `variable` is not set. It names data of users, or a program that
// `./bazelw test_setup` installs: only the data may be missing under CI=true.
inline std::string skip_not_provided(absl::string_view variable, absl::string_view why) {
  return absl::StrCat("not provided: ", variable, ": ", why);
}

// The program of a Debian package is missing that `./bazelw test_setup` installs.
inline std::string skip_package(absl::string_view package, absl::string_view why) {
  return absl::StrCat("package: ", package, ": ", why);
}

// This configuration of the build, such as a sanitizer, cannot run the case. The default
// configuration skips no such case.
inline std::string skip_build(absl::string_view why) { return absl::StrCat("build: ", why); }

}  // namespace millrace

#endif  // MILLRACE_TESTS_ENVIRONMENT_SKIP_H_
