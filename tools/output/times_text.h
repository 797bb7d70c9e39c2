// Where the time of a run went, for people.
#ifndef MILLRACE_TOOLS_OUTPUT_TIMES_TEXT_H_
#define MILLRACE_TOOLS_OUTPUT_TIMES_TEXT_H_

#include <string>

#include "framework/summary.h"

namespace millrace {

// Returns a table with the seconds and the share of each part of the run, in lines of at most 40
// bytes, each ending in a line feed; "" for a run of less than a millisecond. Omits parts below
// 0.5 %, which are a part of "other".
std::string times_text(const RunTimes& times);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_TIMES_TEXT_H_
