// What must happen over many ranks when something happens on one of them: one list of cases for
// thread ranks, for processes, and for docs/rank_cases.md.
#ifndef MILLRACE_TESTS_RANKS_RANK_CASES_H_
#define MILLRACE_TESTS_RANKS_RANK_CASES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "distributed/collectives.h"
#include "framework/hook.h"
#include "framework/model.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {

// What one rank of a case is made of: 8 batches of 10 examples on each rank, one epoch, a report
// every 2 steps.
struct RankSetup {
  TinyTrainerOptions options;
  std::vector<FakeWindow> windows;  // instead of an epoch
  // Called at each event of a hook, with the event's word (tests/fakes/recording_hook.h).
  std::function<absl::Status(HookContext&, absl::string_view event)> on_event;
  std::function<void(ModelOutput&)> on_output;
  std::function<absl::Status(std::vector<TableLookup>&)> on_lookups;
  std::function<at::Tensor(at::Tensor)> on_pooled_gradient;
  bool skip_non_finite = false;
  int64_t max_windows = 0;
};

// What ranks come to, as run_rank_case says it, where it happens on rank `guilty`.
using ExpectedOutcome = std::function<std::string(int world_size, int guilty)>;

// One thing that happens, on one rank.
struct RankCase {
  std::string group;  // "requests", "data", …
  std::string name;   // what happens
  // Makes it happen. `guilty`: whether this is the rank that it happens on.
  std::function<void(RankSetup& setup, bool guilty)> prepare;
  ExpectedOutcome guilty;
  ExpectedOutcome others;
};

const std::vector<RankCase>& rank_cases();

// Trains one rank of a case that happens on rank `guilty`. Returns: what it came to, in one line:
// "completed at step 8, 160 examples".
std::string run_rank_case(const RankCase& rank_case, int guilty,
                          std::unique_ptr<Collectives> collectives);

// docs/rank_cases.md: a table of all cases for 2 ranks, on rank 1.
std::string rank_cases_page();

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_RANK_CASES_H_
