// How the ranks of a job speak with one another.
#ifndef MILLRACE_DISTRIBUTED_COLLECTIVES_H_
#define MILLRACE_DISTRIBUTED_COLLECTIVES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/byte_buffer.h"

namespace millrace {

// What a rank is doing; said in messages about ranks that died or hang.
enum class RankPhase {
  kRendezvous,
  kStart,   // making parts, `start` of hooks
  kData,    // waiting for the dataset: not limited by the collective time-out
  kLookup,  // exchanging ids and rows of tables
  kForward,
  kBackward,
  kCommit,  // gradients and the decision whether to apply them
  kUpdate,
  kBetweenSteps,  // hooks, reports, requests
  kEvaluation,
  kWindowWait,  // no window is ready: not limited either
  kCheckpoint,  // writing or reading one: not limited either
  kEnd,
};
// "forward", "window wait", …
absl::string_view rank_phase_name(RankPhase phase);
// Whether others wait for a rank in this phase without limit.
bool is_unlimited(RankPhase phase);

// Which connections a collective uses; see Collectives.
enum class Channel { kControl = 0, kData = 1, kTables = 2 };
inline constexpr int kChannels = 3;

// Bytes that the table channel sends in front of each message.
inline constexpr int64_t kTableHeaderBytes = 24;

// What a rank sent on the table channel, and how long it waited there.
struct TableTraffic {
  int64_t bytes_sent = 0;  // messages, and kTableHeaderBytes for each
  // Time inside wait() until a message of each other rank had begun to arrive, and the time after
  // that.
  absl::Duration awaiting_ranks = absl::ZeroDuration();
  absl::Duration transferring = absl::ZeroDuration();
};

// A collective under way. Waited for by the thread that started it.
class PendingCollective {
 public:
  // One that was not waited for goes on; the buffers it works on must live until it is done or
  // the Collectives is destroyed.
  virtual ~PendingCollective() = default;
  // Blocks until the result is in place. Called again, it returns the same at once.
  // Errors: those of Collectives.
  virtual absl::Status wait() = 0;
};

// Collectives over the ranks of one job, as one rank sees them. There are three channels, so that
// the small exchange that runs behind every step never queues behind gradients, and neither behind
// rows of tables:
//   control  start_sum of spans only
//   tables   start_exchange only
//   data     everything else
// All ranks start the same collectives, with the same shapes, in the same order on each
// channel; the order between channels is free. Results are the same bits on every rank, and from
// run to run with the same world size.
//
// Errors, of every collective: Aborted naming a rank and what it was doing, if a rank failed (with
// what it gave to fail()), died, or did not take part in time. After the first error every
// collective returns that error at once: the job cannot go on. Time-outs do not run while a
// rank they wait for says that it is in a phase that is not limited.
//
// Called by one thread; only set_phase and fail may be called from any.
//
// Versions: one_rank_collectives.h, thread_collectives.h (ranks as threads of one process, for
// tests), c10d_collectives.h. What each must do: collectives_conformance.h.
class Collectives {
 public:
  // Leaves the job: ranks that still wait for this one get an error.
  virtual ~Collectives() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Control channel. Element-wise sum over ranks, in place; wraps around. `values` must live as
  // PendingCollective says.
  virtual std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) = 0;
  // Control channel. Element-wise sum over ranks, in place, added in the order of ranks. `values`
  // must live as PendingCollective says.
  virtual std::unique_ptr<PendingCollective> start_sum(absl::Span<double> values) = 0;

  // Table channel. Exchanges one message with each other rank: sends `sent[r]` to rank r and stores
  // the message of rank r in `received[r]`. Ignores `sent[rank()]` and clears `received[rank()]`.
  // Messages may differ in length and may be empty.
  //
  // Neither the buffers nor their content may change until wait() returns or the PendingCollective
  // is destroyed. `received` has no defined content before that, nor after an error. Destroying the
  // PendingCollective without waiting sends the messages nevertheless and discards those received.
  //
  // Messages above 64 KB make progress only while both ranks are inside wait(). All ranks must
  // therefore wait for exchanges of such messages, and for collectives of the other channels, in
  // the same order.
  // REQUIRES: `sent` and `received` have world_size() elements.
  virtual std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                            absl::Span<ByteBuffer> received) = 0;
  // Returns the sums since this rank joined. An exchange is in them once its wait() returned OK.
  virtual TableTraffic table_traffic() const = 0;

  // Data channel. Element-wise sum over ranks, in place.
  // REQUIRES: contiguous float32, float64 or int64, of one shape on all ranks.
  virtual std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) = 0;
  // Data channel. What every rank gave, by rank; lengths may differ, also be 0.
  virtual absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) = 0;
  // Data channel. What `root` gave; the others' `bytes` are ignored.
  virtual absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) = 0;

  // Tells others, should they have to name this rank, what it is doing. Costs next to nothing.
  virtual void set_phase(RankPhase phase, int64_t step) = 0;
  // Tells all ranks that this one cannot go on and why; their collectives, also those under
  // way, then fail with this message. The first call counts.
  virtual void fail(const absl::Status& reason) = 0;
};

// "rank 1 failed in forward of step 12: ..." as an Aborted error: one wording for all versions.
absl::Status peer_error(int rank, RankPhase phase, int64_t step, absl::string_view what);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_COLLECTIVES_H_
