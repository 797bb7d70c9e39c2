// Decides if campaigns may skip cases with traced processes on a machine.
#ifndef MILLRACE_TESTS_CAMPAIGNS_TRACE_PROBE_H_
#define MILLRACE_TESTS_CAMPAIGNS_TRACE_PROBE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Attaches to a child process and stops it, by calls that traced_child.cc does not use. Returns
// true if the kernel permitted the trace.
bool tracing_is_allowed();

// Called where `cases` ("5 tests", "9 of 22 planted faults") were skipped because `run_traced`
// could not trace. Fails the test if tracing_is_allowed(); otherwise prints the count. Returns the
// text for GTEST_SKIP().
std::string skip_traced(absl::string_view cases, absl::string_view why);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_TRACE_PROBE_H_
