// Keeps the ranks of one run in step.
#ifndef MILLRACE_FRAMEWORK_RANKS_AGREEMENT_H_
#define MILLRACE_FRAMEWORK_RANKS_AGREEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "distributed/collectives.h"
#include "distributed/step_exchange.h"
#include "framework/ranks/rank_figures.h"
#include "framework/request_queue.h"

namespace millrace {

// Where in the loop a rank stands; all ranks come to the same places in the same order.
struct Place {
  const char* what = "";  // "step", "evaluation", …; a literal
  int64_t number = 0;
};

// The place before each step of training.
inline constexpr char kStepPlace[] = "step";

// What a rank tells of itself at such a place.
struct RankShare {
  bool has_data = false;                          // for the next step
  int64_t examples = 0;                           // in all its micro-batches
  absl::Span<const int64_t> targets = {};         // of each task in them; empty: zeros
  std::vector<int64_t> rows = {};                 // of each table over ranks; empty: zeros
  absl::Duration elapsed = absl::ZeroDuration();  // training time; rank 0's counts
  bool durable = false;                           // StateSaver::ready
};

// The rules by which a run over many ranks stays one run. Every rank makes the same sequence of
// exchanges (distributed/step_exchange.h). Nothing else is collective unless an exchange that went
// well stands between it and whatever could fail before it. So a rank that fails needs no
// place of its own: it takes part in the next exchange as failed, wherever the others are then, and
// all end there. With one rank everything is the same, and no message is sent.
//
// Used on the trainer's thread; one for each trainer.
class Agreement {
 public:
  // Both are borrowed. `evaluation_sets`: names, alike on all ranks. `tasks`: the number of tasks
  // whose targets shares may give, `tables` that of tables whose rows they may give.
  Agreement(Collectives& collectives, RequestQueue& requests,
            std::vector<std::string> evaluation_sets, int64_t tasks = 0, int64_t tables = 0);

  void begin_run();

  // Begins an exchange, with what hooks of this rank ask for. REQUIRES: none is under way.
  void start(Place place, const RankShare& share);
  // Waits for it; does nothing if none is under way. Errors, on all ranks alike: Aborted with the
  // message of a rank that failed or died; FailedPrecondition if ranks served different common
  // requests or stand at different places, naming what and the hooks. The run is over then.
  absl::Status verify();
  // Both. For places where nothing can run meanwhile.
  absl::Status meet(Place place, const RankShare& share);
  // The same for a place that only has to be safe for another collective; costs nothing with one
  // rank.
  absl::Status meet(Place place);
  // Of the exchange verified last.
  const ExchangeResult& result() const { return result_; }
  // What single ranks asked for in it: the lowest rank's first. If there is anything, the ranks
  // meet once more, since one may have failed meanwhile, and tell one another. Once for each
  // exchange; result() stays.
  absl::StatusOr<RequestSet> requests();
  // What this rank asked for in exchanges so far and was not returned by requests() yet.
  RequestSet carried() const { return requests_taken_ ? RequestSet() : of_this_rank_; }

  // Tells others of a common request that this rank serves, with the next exchange.
  void served(const RequestSet& common);
  // The same for any fact that must be equal on all ranks: "parameters 12ab34".
  void served(absl::string_view fact);

  // Ends something: all ranks learn whether one of them failed in it. Returns: this rank's own
  // error if there is one, else Aborted with that of another rank, else OK.
  absl::Status settle(Place place, const absl::Status& outcome);
  // Marks the run as over with a failure that all ranks know by another way than an exchange.
  // Returns it.
  absl::Status give_up(absl::Status failure);
  // The messages of the ranks that failed, as settle returns them. A collective: every rank calls
  // it.
  absl::Status gather_failures(const absl::Status& own);

  // Whether the ranks know that the run has failed: no more collectives.
  bool over() const { return over_; }
  // Says whether a failure that shows now leaves the state of training on this rank whole, so that
  // it can be saved. Default: false, again for each run.
  void set_state_is_whole(bool whole) { state_is_whole_ = whole; }
  // Returns true if the run has failed, and every rank's state was whole when the ranks told one
  // another of the failure. The same on all ranks.
  bool all_whole() const { return over_ && all_whole_; }
  // Lets the ranks act together once more after such a failure: exchanges work again, and report
  // what fails in them. Returns all_whole(), as it was; if false, nothing has changed.
  bool reopen();
  // The lowest rank that failed, once failures were gathered; else -1.
  int failed_rank() const { return failed_rank_; }
  Collectives& collectives() { return collectives_; }
  // What this rank waited for and sent in steps of training since a report last reset it. The
  // agreement adds the step exchange; TableExchange and CommitExchange add theirs.
  RankFigures& figures() { return figures_; }

 private:
  void start(Place place, const RankShare& share, absl::Status failure);
  void start_exchange(Place place, const RankShare& share);
  uint64_t fingerprint(Place place) const;
  absl::Status name_divergence();

  Collectives& collectives_;
  RequestQueue& requests_;
  const std::vector<std::string> evaluation_sets_;
  StepExchange exchange_;
  ExchangeResult result_;
  RequestSet of_this_rank_;  // that the exchange under way, or the last one, carries
  bool requests_taken_ = true;
  Place place_;                       // of the exchange under way
  absl::Status own_failure_;          // that it carries
  uint64_t served_ = 0;               // hash of everything served
  std::vector<std::string> journal_;  // of what was served since the exchange verified last
  bool over_ = false;
  bool state_is_whole_ = false;  // of this rank
  bool all_whole_ = false;
  int failed_rank_ = -1;
  RankFigures figures_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_AGREEMENT_H_
