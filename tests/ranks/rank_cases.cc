#include "tests/ranks/rank_cases.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/ranks/loop_cases.h"
#include "tests/ranks/table_cases.h"

namespace millrace {

const std::vector<RankCase>& rank_cases() {
  static const auto* cases = [] {
    auto* all = new std::vector<RankCase>(loop_cases());
    for (RankCase& rank_case : table_cases()) all->push_back(std::move(rank_case));
    return all;
  }();
  return *cases;
}

std::string rank_cases_page() {
  std::string page =
      "# What happens over many ranks\n\n"
      "Each line is a case that `//tests/ranks:thread_ranks_test` runs with 2 and 3 ranks as "
      "threads and "
      "`//tests/ranks:process_ranks_test` with 2 processes over Gloo, the first of each section "
      "also with 3. Each rank has 8 batches of 10 "
      "examples unless the case says otherwise. What happens, happens on the first or on the last "
      "rank; the outcomes here are those of 2 ranks where it is rank 1. All ranks end at the same "
      "step. This page is written by `./bazelw run "
      "//tests/ranks:write_rank_cases`, and a test holds it against the cases.\n";
  std::string group;
  for (const RankCase& rank_case : rank_cases()) {
    if (rank_case.group != group) {
      group = rank_case.group;
      absl::StrAppend(&page, "\n## ", group,
                      "\n\n| case | that rank | the others |\n|---|---|---|\n");
    }
    const std::string guilty = rank_case.guilty(2, 1);
    const std::string others = rank_case.others(2, 1);
    absl::StrAppend(&page, "| ", rank_case.name, " | ", guilty, " | ",
                    others == guilty ? "the same" : others, " |\n");
  }
  return page;
}

}  // namespace millrace
