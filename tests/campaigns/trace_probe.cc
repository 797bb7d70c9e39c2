#include "tests/campaigns/trace_probe.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "tests/environment/skip.h"

namespace millrace {

bool tracing_is_allowed() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  if (child < 0) return false;
  int status = 0;
  const bool stopped = ::ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0 &&
                       ::ptrace(PTRACE_INTERRUPT, child, nullptr, nullptr) == 0 &&
                       ::waitpid(child, &status, __WALL) == child && WIFSTOPPED(status);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, __WALL);
  return stopped;
}

std::string skip_traced(absl::string_view cases, absl::string_view why) {
  const std::string what = absl::StrCat(cases, " skipped, ", why);
#ifdef __x86_64__
  EXPECT_FALSE(tracing_is_allowed()) << what << ", but this machine lets processes be traced";
  const std::string reason = skip_kernel_feature("ptrace", what);
#else
  const std::string reason = skip_hardware("x86-64", what);
#endif
  std::printf("%s\n", reason.c_str());
  return reason;
}

}  // namespace millrace
