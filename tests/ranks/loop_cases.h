// Cases in the loop over several ranks: requests, data, hooks, models and windows.
#ifndef MILLRACE_TESTS_RANKS_LOOP_CASES_H_
#define MILLRACE_TESTS_RANKS_LOOP_CASES_H_

#include <vector>

#include "tests/ranks/rank_case.h"

namespace millrace {

std::vector<RankCase> loop_cases();

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_LOOP_CASES_H_
