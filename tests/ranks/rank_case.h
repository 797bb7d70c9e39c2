// An event on a rank of a job, and the outcome of all ranks.
#ifndef MILLRACE_TESTS_RANKS_RANK_CASE_H_
#define MILLRACE_TESTS_RANKS_RANK_CASE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "distributed/collectives.h"
#include "framework/model/model.h"
#include "hook/hook.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {

// Called at each event of a hook, with the event's word (tests/fakes/recording_hook.h).
using OnEvent = std::function<absl::Status(HookContext&, absl::string_view event)>;

inline constexpr int64_t kRankBatch = 10;  // examples in a batch of one rank

// The options of a rank of a case: 8 batches of kRankBatch examples on each rank, one epoch, a
// report every 2 steps.
struct RankSetup {
  TinyTrainerOptions options;
  std::vector<FakeWindow> windows;  // instead of an epoch
  OnEvent on_event;
  std::function<void(ModelOutput&)> on_output;
  std::function<absl::Status(std::vector<TableLookup>&)> on_lookups;
  std::function<at::Tensor(at::Tensor)> on_pooled_gradient;
  bool skip_non_finite = false;
  int64_t max_windows = 0;
  // The exchange of tables, from 0, whose messages this rank cannot read; -1: none.
  int64_t unreadable_exchange = -1;
  // If set, there is a saver, which calls this function for each checkpoint.
  std::function<absl::Status()> on_save;
};

// Returns the outcome of the ranks, in the form of run_rank_case(), if the event is on rank
// `guilty`.
using ExpectedOutcome = std::function<std::string(int world_size, int guilty)>;

// An event on a rank.
struct RankCase {
  std::string group;  // "requests", "data", …
  std::string name;   // the event
  // Causes the event. `guilty`: true on the rank of the event.
  std::function<void(RankSetup& setup, bool guilty)> prepare;
  ExpectedOutcome guilty;
  ExpectedOutcome others;
};

// Trains a rank of a case whose event is on rank `guilty`. Returns the outcome in one line:
// "completed at step 8, 160 examples".
std::string run_rank_case(const RankCase& rank_case, int guilty,
                          std::unique_ptr<Collectives> collectives);

// ---- For lists of cases ----

// Returns "completed at step 8, 160 examples" for ranks that had a full batch in each step.
ExpectedOutcome even(absl::string_view outcome, int64_t step, absl::string_view more = "");
// Returns the same if the guilty rank had `guilty` examples and each of the others `others`.
ExpectedOutcome uneven(int64_t step, int64_t guilty, int64_t others, int64_t dropped = 0);
// Returns the report of the other ranks about the guilty rank's `error`.
ExpectedOutcome told(absl::string_view error, int64_t step, absl::string_view doing = "",
                     absl::string_view more = "");

// Returns a function that acts once, at the event `word` after `step` applied steps.
OnEvent once(absl::string_view word, int64_t step,
             std::function<absl::Status(HookContext&)> action);
// Requests an evaluation.
absl::Status evaluate(HookContext& context);
// Requests a stop of this rank, as a signal does, before its twentieth exchange.
absl::Status stop_later(HookContext& context);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_RANK_CASE_H_
