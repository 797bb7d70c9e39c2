#include "tools/openmp.h"

#include <unistd.h>

#include <cstdlib>

namespace millrace {

void limit_openmp_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) {
    return;
  }
  // Long enough to catch the next loop of a busy step, short against a time slice.
  ::setenv("GOMP_SPINCOUNT", "10000", 1);
  ::execv("/proc/self/exe", argv);
}

}  // namespace millrace
