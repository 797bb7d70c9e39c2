// Communication between the ranks of a job.
#ifndef MILLRACE_DISTRIBUTED_COLLECTIVES_H_
#define MILLRACE_DISTRIBUTED_COLLECTIVES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/byte_buffer.h"

namespace millrace {

// The current activity of a rank, for messages about dead or stuck ranks.
enum class RankPhase {
  kRendezvous,
  kStart,   // making parts, `start` of hooks
  kData,    // waiting for the dataset: exempt from the collective time-out
  kLookup,  // exchanging ids and rows of tables
  kForward,
  kBackward,
  kCommit,  // gradients and the decision whether to apply them
  kUpdate,
  kBetweenSteps,  // hooks, reports, requests
  kEvaluation,
  kWindowWait,  // no window is ready: also exempt
  kCheckpoint,  // writing or reading a checkpoint: has a time-out of its own, for each rank
  kEnd,
};
// Returns "forward", "window wait", …
absl::string_view rank_phase_name(RankPhase phase);
// Returns true for the phases in which a rank waits outside of a collective: the collective
// time-out does not run for it. kCheckpoint is limited by the checkpoint time-out.
bool is_unlimited(RankPhase phase);

// The connections of a collective; see Collectives.
enum class Channel { kControl = 0, kData = 1, kTables = 2 };
inline constexpr int kChannels = 3;

// Bytes of the header of each message on the table channel.
inline constexpr int64_t kTableHeaderBytes = 24;

// A rank's bytes and waiting time on the table channel.
struct TableTraffic {
  int64_t bytes_sent = 0;  // messages, and kTableHeaderBytes per message
  // Time inside wait() until a message of each other rank had begun to arrive, and the time after
  // that.
  absl::Duration awaiting_ranks = absl::ZeroDuration();
  absl::Duration transferring = absl::ZeroDuration();
};

// A collective under way. Its starting thread calls wait().
class PendingCollective {
 public:
  // A collective without wait() continues after its destruction. The buffers must live until the
  // end of the collective, or until the Collectives is destroyed.
  virtual ~PendingCollective() = default;
  // Blocks until the result is in place. Further calls return the same result at once. Errors: any
  // error of Collectives.
  virtual absl::Status wait() = 0;
};

// Collectives over the ranks of one job, as one rank sees them. Three channels keep the small
// exchange behind every step from queueing behind gradients, and both from queueing behind rows of
// tables:
//   control  start_sum of spans only
//   tables   start_exchange only
//   data     everything else
// All ranks start the same collectives, with the same shapes, in the same order on each channel;
// the order between channels is free. Results have the same bits on every rank, and in every run
// with the same world size.
//
// Errors, of every collective: Aborted naming a rank and its activity, if the rank failed (with the
// argument of fail()), died, or did not take part in time. After the first error every collective
// returns the same error at once: the job cannot continue. The time-out runs for each awaited rank,
// and pauses for a rank in a phase of is_unlimited(); for one in kCheckpoint a longer one runs.
//
// Called by one thread, except set_phase(), failure() and fail(), which any thread may call.
//
// Implementations: one_rank_collectives.h, thread_collectives.h (ranks as threads of one process,
// for tests), c10d_collectives.h. Requirements: collectives_conformance.h.
class Collectives {
 public:
  // Leaves the job: other ranks get an error instead of waiting.
  virtual ~Collectives() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Control channel. Element-wise sum over ranks, in place; wraps around. For the lifetime of
  // `values` see PendingCollective.
  virtual std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) = 0;
  // Control channel. Element-wise sum over ranks, in place, added in the order of ranks. For the
  // lifetime of `values` see PendingCollective.
  virtual std::unique_ptr<PendingCollective> start_sum(absl::Span<double> values) = 0;

  // Table channel. Exchanges one message with each other rank: sends `sent[r]` to rank r and stores
  // the message of rank r in `received[r]`. Ignores `sent[rank()]` and clears `received[rank()]`.
  // Messages may differ in length and may be empty.
  //
  // Neither the buffers nor their content may change until wait() returns or the PendingCollective
  // is destroyed. Until then, and after an error, the content of `received` is undefined.
  // Destroying the PendingCollective without waiting still sends the messages, and discards the
  // received messages.
  //
  // Messages above 64 KB make progress only while both ranks are inside wait(). All ranks must
  // therefore wait for exchanges of such messages, and for collectives of the other channels, in
  // the same order.
  // REQUIRES: `sent` and `received` have world_size() elements.
  virtual std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                            absl::Span<ByteBuffer> received) = 0;
  // Returns the sums since this rank joined. An exchange counts once its wait() has returned OK.
  virtual TableTraffic table_traffic() const = 0;

  // Data channel. Element-wise sum over ranks, in place.
  // REQUIRES: contiguous float32, float64 or int64, of one shape on all ranks.
  virtual std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) = 0;
  // Data channel. Returns the bytes of every rank, by rank; lengths may differ, also be 0.
  virtual absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) = 0;
  // Data channel. Returns the bytes of `root`; ignores `bytes` of other ranks.
  virtual absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) = 0;

  // Sets the rank's activity, for messages of other ranks. Very cheap.
  virtual void set_phase(RankPhase phase, int64_t step) = 0;
  // Returns the error that ended the job, as far as this rank knows, without communication; OK
  // while the job can continue. Called by any thread, so that a rank that waits for something else
  // than its peers notices their failure. Default: OK; a failure is noticed in a collective.
  virtual absl::Status failure() { return absl::OkStatus(); }
  // Reports to all ranks that this rank cannot continue, and why. The collectives of the other
  // ranks, also those under way, then fail with this message. Only the first call has an effect.
  virtual void fail(const absl::Status& reason) = 0;
};

// Returns "rank 1 failed in forward of step 12: ..." as an Aborted error. All implementations use
// this wording.
absl::Status peer_error(int rank, RankPhase phase, int64_t step, absl::string_view what);

// A collective that could not begin, or whose result was available at once.
class EndedCollective : public PendingCollective {
 public:
  explicit EndedCollective(absl::Status result) : result_(std::move(result)) {}
  absl::Status wait() override { return result_; }

 private:
  const absl::Status result_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_COLLECTIVES_H_
