// The distribution of a run's time, for people.
#ifndef MILLRACE_TOOLS_OUTPUT_TIMES_TEXT_H_
#define MILLRACE_TOOLS_OUTPUT_TIMES_TEXT_H_

#include <string>

#include "framework/report/summary.h"

namespace millrace {

// Returns a table with the seconds and the share of each part of the run, in lines of at most 40
// bytes, each with a line feed; "" for a run of less than a millisecond. Parts below 0.5 % are
// included in "other".
std::string times_text(const RunTimes& times);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_TIMES_TEXT_H_
