#include "tools/process_start.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace millrace {

void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    // open() returns the lowest free number: the closed stream, since lower numbers are open.
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

void prepare_process(char** argv) {
  open_standard_streams();
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
