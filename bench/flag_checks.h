// Checks of numeric flags.
#ifndef MILLRACE_BENCH_FLAG_CHECKS_H_
#define MILLRACE_BENCH_FLAG_CHECKS_H_

#include <cstdint>

#include "absl/status/status.h"

namespace millrace {

// Checks a lower bound. Errors: InvalidArgument naming the flag --`name`, its value and the bound.
absl::Status check_at_least(const char* name, int64_t value, int64_t least);
// Checks that the flag --zipf is finite and not negative.
absl::Status check_zipf(double zipf);

}  // namespace millrace

#endif  // MILLRACE_BENCH_FLAG_CHECKS_H_
