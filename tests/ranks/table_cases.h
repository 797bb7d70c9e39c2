// Cases over several ranks in jobs with a table.
#ifndef MILLRACE_TESTS_RANKS_TABLE_CASES_H_
#define MILLRACE_TESTS_RANKS_TABLE_CASES_H_

#include <vector>

#include "tests/ranks/rank_case.h"

namespace millrace {

std::vector<RankCase> table_cases();

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_TABLE_CASES_H_
