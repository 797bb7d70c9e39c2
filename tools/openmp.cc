#include "tools/openmp.h"

#include <unistd.h>

#include <cstdlib>

namespace millrace {

void limit_openmp_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) {
    return;
  }
  // Some microseconds: measured (docs/benchmarks.md) as fast as longer spinning on an idle machine, and ten times
  // faster beside a busy process.
  ::setenv("GOMP_SPINCOUNT", "1000", 1);
  ::execv("/proc/self/exe", argv);
}

}  // namespace millrace
