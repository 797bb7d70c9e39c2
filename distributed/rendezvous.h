// How the ranks of a job come together: each finds out whether all are there and are of one job.
#ifndef MILLRACE_DISTRIBUTED_RENDEZVOUS_H_
#define MILLRACE_DISTRIBUTED_RENDEZVOUS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "distributed/mesh/job_store.h"

namespace millrace {

// What all ranks of a job must agree on before they begin.
struct JobIdentity {
  std::string name;     // of the job
  std::string version;  // of Millrace
  std::string config;   // text of everything that decides the result; compared line by line
};

struct RendezvousOptions {
  int rank = 0;
  int world_size = 1;
  JobIdentity identity;
  absl::Duration timeout = absl::Minutes(5);
  // How much of that has passed.
  absl::Duration waited = absl::ZeroDuration();
  // A rank that came and then says nothing for so long is dead or frozen.
  absl::Duration silence_limit = absl::Seconds(6);
  // Called each time after this rank told the store that it is here. Null: nothing is.
  std::function<void()> published;
};

// Meets the other ranks in `store`. Rank 0 says what the job is, and when all have come; the others
// follow its word. A rank that is refused leaves a note, which rank 0 adds to its message if
// the time runs out.
//
// Errors, at the time-out at the latest: FailedPrecondition (this rank came twice, or differs from
// rank 0: says in what), Unavailable (ranks are missing: says which), Aborted as by peer_error (a
// rank died or froze after it had come; rank 0 also if `store` fails, which it then serves).
absl::Status meet_ranks(JobStore& store, const RendezvousOptions& options, Clock& clock);

// In what the second differs from the first, for people: "world size 2 here, 3 at rank 0"; ""
// if they agree. Of configurations, the first line that differs.
std::string identity_difference(int world_size, const JobIdentity& here, int world_size_0,
                                const JobIdentity& at_rank_0);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_RENDEZVOUS_H_
