// Says whether campaigns that trace processes may skip their cases here.
#ifndef MILLRACE_TESTS_CAMPAIGNS_TRACE_PROBE_H_
#define MILLRACE_TESTS_CAMPAIGNS_TRACE_PROBE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Attaches to a process of its own and stops it, by calls that traced_child.cc does not use.
// Returns: true if the kernel permitted it.
bool tracing_is_allowed();

// Call where `cases` ("5 tests", "9 of 22 planted faults") were skipped because `run_traced` could
// not trace: fails the test if tracing_is_allowed(), prints the count otherwise.
// Returns: the text for GTEST_SKIP().
std::string skip_traced(absl::string_view cases, absl::string_view why);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_TRACE_PROBE_H_
