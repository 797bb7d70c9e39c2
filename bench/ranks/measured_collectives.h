// Times and bytes of the collectives of a step.
#ifndef MILLRACE_BENCH_RANKS_MEASURED_COLLECTIVES_H_
#define MILLRACE_BENCH_RANKS_MEASURED_COLLECTIVES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "distributed/collectives.h"
#include "distributed/forwarded_collectives.h"

namespace millrace {

// Forwards all calls to other collectives, and sums times and bytes of the exchanges of training
// steps with tables over ranks. Used by one thread.
class MeasuredCollectives : public ForwardedCollectives {
 public:
  // The exchanges in the order of a step: the sum of integers of the step exchange, the three
  // exchanges of the table channel, and the sum of floating-point numbers for the decision.
  enum Exchange { kStep, kIds, kRows, kSums, kVector, kExchanges };
  struct Total {
    double seconds = 0;  // inside start and wait
    // All bytes sent to other ranks.
    int64_t bytes = 0;
  };
  using Totals = std::array<Total, kExchanges>;

  // Borrows `others`.
  explicit MeasuredCollectives(Collectives& others) : ForwardedCollectives(others) {}

  // Begins a step: the next exchange of the table channel is the exchange of ids.
  void begin_step() { next_ = kIds; }
  // Returns the totals since the last call.
  Totals take_totals();

  using ForwardedCollectives::start_sum;
  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override;
  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override;
  std::unique_ptr<PendingCollective> start_sum(absl::Span<double> values) override;

 private:
  class Pending;

  template <typename Number>
  std::unique_ptr<PendingCollective> measure_sum(absl::Span<Number> values, Total& total);

  Totals totals_ = {};
  int next_ = kIds;  // of the exchanges of the table channel
};

}  // namespace millrace

#endif  // MILLRACE_BENCH_RANKS_MEASURED_COLLECTIVES_H_
