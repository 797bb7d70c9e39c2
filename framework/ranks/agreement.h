// Keeps the ranks of one run in step.
#ifndef MILLRACE_FRAMEWORK_RANKS_AGREEMENT_H_
#define MILLRACE_FRAMEWORK_RANKS_AGREEMENT_H_

#include <cstdint>
#include <functional>
#include <optional>
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
#include "hook/request_queue.h"

namespace millrace {

// A point of the loop. All ranks reach the same points in the same order.
struct Place {
  const char* what = "";  // "step", "evaluation", …; a literal
  int64_t number = 0;
};

// The place before each step of training.
inline constexpr char kStepPlace[] = "step";

// Values that a rank contributes to an exchange at a place.
struct RankShare {
  bool has_data = false;                          // for the next step
  int64_t examples = 0;                           // in all its micro-batches
  absl::Span<const int64_t> targets = {};         // of each task in them; empty: zeros
  std::vector<int64_t> rows = {};                 // of each table over ranks; empty: zeros
  absl::Duration elapsed = absl::ZeroDuration();  // training time; only rank 0's is used
  bool durable = false;                           // StateSaver::ready
  bool time_is_up = false;                        // BatchFeed::time_is_up
};

// The rules that keep a run over many ranks consistent. Every rank makes the same sequence of
// exchanges (distributed/step_exchange.h). Invariant: between any operation that can fail on one
// rank and the next collective, all ranks complete an exchange. A rank that fails takes part in the
// next exchange as failed, at any place of the others, and all ranks stop there. One rank follows
// the same rules without sending messages.
//
// Used on the trainer's thread; one for each trainer.
class Agreement {
 public:
  // Borrows both references. `evaluation_sets`: names, equal on all ranks. `tasks`: the number of
  // tasks with targets in a RankShare; `tables`: the number of tables with rows in a RankShare.
  Agreement(Collectives& collectives, RequestQueue& requests,
            std::vector<std::string> evaluation_sets, int64_t tasks = 0, int64_t tables = 0);

  void begin_run();

  // Begins an exchange with the requests of this rank's hooks. REQUIRES: no exchange is under way.
  void start(Place place, const RankShare& share);
  // Waits for the exchange; does nothing if none is under way. Errors, equal on all ranks: Aborted
  // with the message of a rank that failed or died; FailedPrecondition if ranks served different
  // common requests or are at different places, naming the differences and the hooks. The run is
  // over then.
  absl::Status verify();
  // Calls start() and verify(), at places where no work can overlap the exchange.
  absl::Status meet(Place place, const RankShare& share);
  // Makes an exchange whose only purpose is a safe place for another collective; costs nothing with
  // one rank.
  absl::Status meet(Place place);
  // Returns the result of the exchange verified last.
  const ExchangeResult& result() const { return result_; }
  // Returns the requests of single ranks in the exchange verified last, the lowest rank's first. If
  // there are any, the ranks meet once more, since a rank may have failed since, and gather the
  // requests. Called once for each exchange; result() is unchanged.
  absl::StatusOr<RequestSet> requests();
  // Returns the requests that this rank has sent in exchanges but requests() has not returned yet.
  RequestSet carried() const { return requests_taken_ ? RequestSet() : of_this_rank_; }

  // Adds a common request served by this rank to the facts compared in the next exchange.
  void served(const RequestSet& common);
  // Adds any fact that must be equal on all ranks: "window 12ab34".
  void served(absl::string_view fact);
  // Adds the description of the dense parameters after `step`: "2 parameters of digest 0123…". If
  // only these differ, the error names the ranks that differ from rank 0 and says what to do.
  void served_parameters(int64_t step, absl::string_view description);

  // Ends a section: all ranks learn whether the section failed on one of them. Returns this rank's
  // own error if it has one, else Aborted with the error of another rank, else OK.
  absl::Status settle(Place place, const absl::Status& outcome);
  // Marks the run as over after a failure known to all ranks without an exchange. Returns the
  // failure.
  absl::Status give_up(absl::Status failure);
  // Gathers the errors of failed ranks, and returns the same as settle(). Collective: every rank
  // calls this function.
  absl::Status gather_failures(const absl::Status& own);

  // Returns true if the ranks know that the run has failed: no more collectives.
  bool over() const { return over_; }
  // Sets whether a failure from now on leaves the state of training on this rank whole, so that it
  // can be saved. The default, restored for each run, is false.
  void set_state_is_whole(bool whole) { state_is_whole_ = whole; }
  // Sets the function that describes the position of this rank while it is between two steps with
  // nothing half done, and returns none at other times. Called when failures are exchanged.
  void set_boundary(std::function<std::optional<std::string>()> boundary) {
    boundary_ = std::move(boundary);
  }
  // Returns true if the run has failed and every rank's state was whole, or all ranks were at the
  // same boundary, when the ranks exchanged their failures. Equal on all ranks.
  bool all_whole() const { return over_ && all_whole_; }
  // Allows the ranks to act together once more after such a failure: exchanges work again and
  // report new failures. Returns the previous all_whole(); if false, nothing has changed.
  bool reopen();
  // Returns the lowest rank that failed, after failures were gathered; else -1.
  int failed_rank() const { return failed_rank_; }
  Collectives& collectives() { return collectives_; }
  // Returns the waiting times and bytes of this rank in training steps since the last reset by a
  // report. The agreement adds the step exchange; TableExchange and CommitExchange add their own.
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
  absl::Status own_failure_;          // carried by the exchange under way
  uint64_t served_ = 0;               // hash of everything served
  std::vector<std::string> journal_;  // facts served since the exchange verified last
  bool over_ = false;
  bool state_is_whole_ = false;  // of this rank
  std::function<std::optional<std::string>()> boundary_;
  bool all_whole_ = false;
  int failed_rank_ = -1;
  RankFigures figures_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_AGREEMENT_H_
