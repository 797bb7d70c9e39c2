// The meeting of the ranks of a job: each learns whether all ranks have come and belong to one job.
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
  // Called after each write of this rank's heartbeat to the store. Null: no call.
  std::function<void()> published;
};

// Meets the other ranks in `store`. Rank 0 publishes the job's identity and the verdict; the other
// ranks follow the verdict. A refused rank leaves a note, and rank 0 adds the note to the message
// of a time-out.
//
// Errors, at the time-out at the latest: FailedPrecondition naming the difference (the rank came
// twice, or differs from rank 0), Unavailable naming the missing ranks, Aborted in the form of
// peer_error() (a rank died or froze after arrival; for rank 0, which serves the store, also if
// `store` fails).
absl::Status meet_ranks(JobStore& store, const RendezvousOptions& options, Clock& clock);

// Returns the difference of the two jobs, for people: "world size 2 here, 3 at rank 0"; "" if they
// agree. Of configurations, names the first different line.
std::string identity_difference(int world_size, const JobIdentity& here, int world_size_0,
                                const JobIdentity& at_rank_0);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_RENDEZVOUS_H_
