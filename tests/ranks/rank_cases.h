// The required outcome over several ranks for an event on a rank: a single list of cases for thread
// ranks, for processes, and for docs/rank_cases.md.
#ifndef MILLRACE_TESTS_RANKS_RANK_CASES_H_
#define MILLRACE_TESTS_RANKS_RANK_CASES_H_

#include <string>
#include <vector>

#include "tests/ranks/rank_case.h"

namespace millrace {

const std::vector<RankCase>& rank_cases();

// Returns docs/rank_cases.md: a table of all cases for 2 ranks, with the event on rank 1.
std::string rank_cases_page();

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_RANK_CASES_H_
