// Collectives of a job with one rank.
#ifndef MILLRACE_DISTRIBUTED_ONE_RANK_COLLECTIVES_H_
#define MILLRACE_DISTRIBUTED_ONE_RANK_COLLECTIVES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "distributed/collectives.h"

namespace millrace {

// Rank 0 of 1: sums leave their operands unchanged, nothing waits, and the only error is this
// rank's own argument of fail().
class OneRankCollectives : public Collectives {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override;
  std::unique_ptr<PendingCollective> start_sum(absl::Span<double> values) override;
  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override;
  TableTraffic table_traffic() const override { return {}; }
  std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) override;
  absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) override;
  absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) override;
  void set_phase(RankPhase phase, int64_t step) override;
  absl::Status failure() override;
  void fail(const absl::Status& reason) override;

 private:
  Mutex mutex_;
  RankPhase phase_ ABSL_GUARDED_BY(mutex_) = RankPhase::kStart;
  int64_t step_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_ONE_RANK_COLLECTIVES_H_
