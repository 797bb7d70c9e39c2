// The meeting of the ranks of a job: each learns whether all ranks have come and belong to one job.
//
// Each start of the ranks has a name with a random word, which rank 0 draws. All keys of a start
// begin with the name (distributed/start_store.h), so that what ranks of an earlier start wrote, or
// still write, does not count. Each process has a random word, its attempt, with which it takes the
// place of its rank: every call of the store may be repeated if an answer was lost.
#ifndef MILLRACE_DISTRIBUTED_RENDEZVOUS_H_
#define MILLRACE_DISTRIBUTED_RENDEZVOUS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "distributed/mesh/job_store.h"
#include "distributed/start_store.h"

namespace millrace {

// Properties on which all ranks of a job must agree before they begin.
struct JobIdentity {
  std::string name;     // of the job
  std::string version;  // of Millrace
  std::string config;   // text of every setting that affects the result; compared line by line
};

struct RendezvousOptions {
  int rank = 0;
  int world_size = 1;
  std::string host;  // the machine of this rank (Heartbeat::host)
  JobIdentity identity;
  absl::Duration timeout = absl::Minutes(5);
  // Part of `timeout` that has already passed.
  absl::Duration waited = absl::ZeroDuration();
  // A rank that is silent for so long after arrival is dead or frozen.
  absl::Duration silence_limit = absl::Seconds(6);
  // A store that does not answer for so long is frozen. One that has ended refuses at once.
  absl::Duration store_limit = absl::Seconds(6);
  // If true, the store may hold an earlier start, whose ranks are gone: other ranks follow a rank 0
  // only once it shows life.
  bool store_outlives_ranks = false;
  // Number of restarts of this rank by the launcher. A new rank 0 replaces a start of another
  // number at once, and one of the same number once its rank 0 has been silent for silence_limit.
  int restart_count = 0;
  // Called after each write of this rank's heartbeat to the store. Null: no call.
  std::function<void()> published;
};

// Meets the other ranks in `store`. Rank 0 publishes the job's identity and the verdict; the other
// ranks follow the verdict. A refused rank leaves a note, and rank 0 adds the note to the message
// of a time-out. A rank that finds another start in its place while it waits meets that one.
//
// A second process of a rank watches whether the first one shows life. If the first is silent for
// silence_limit, the second takes its place, or fails the start if all ranks have met before.
//
// Returns the store of the start, which borrows `store` and `clock`.
// Errors, at the time-out at the latest: FailedPrecondition naming the difference (the rank came
// twice and the first process lives, then of kind kBusy; or the rank differs from rank 0),
// Unavailable naming the missing ranks, Aborted in the form of peer_error() (a rank died or froze
// after arrival; for rank 0, if rank 0 serves the store, also if `store` fails), for a launcher's
// store that fails, or for a rank 0 whose start was replaced; FailedPrecondition of the store.
absl::StatusOr<std::unique_ptr<StartStore>> meet_ranks(JobStore& store,
                                                       const RendezvousOptions& options,
                                                       Clock& clock);

// Returns the difference of the two jobs, for people: "world size 2 here, 3 at rank 0"; "" if they
// agree. Of configurations, names the first different line.
std::string identity_difference(int world_size, const JobIdentity& here, int world_size_0,
                                const JobIdentity& at_rank_0);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_RENDEZVOUS_H_
