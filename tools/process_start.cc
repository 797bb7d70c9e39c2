#include "tools/process_start.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace millrace {
namespace {

// Enough for a job of 10,000 ranks. Some programs close every possible file when they start.
constexpr rlim_t kMostOpenFiles = 65536;

}  // namespace

void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    // open() returns the lowest free number: the closed stream, since lower numbers are open.
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

void raise_file_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kMostOpenFiles);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void prepare_process(char** argv) {
  open_standard_streams();
  raise_file_limit();
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  ::setenv("THP_MEM_ALLOC_ENABLE", "1", /*overwrite=*/0);
  for (const char* name : kSpinVariables) {
    if (std::getenv(name) != nullptr) return;
  }
  static char setting[sizeof kSpinSetting];  // the environment keeps it
  std::memcpy(setting, kSpinSetting, sizeof setting);
  ::putenv(setting);
  ::execv("/proc/self/exe", argv);
}

}  // namespace millrace
