// How long the collectives of a step take, and what they send.
#ifndef MILLRACE_BENCH_MEASURED_COLLECTIVES_H_
#define MILLRACE_BENCH_MEASURED_COLLECTIVES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "distributed/collectives.h"

namespace millrace {

// Passes everything on to other collectives, and adds up time and bytes of the exchanges of
// training steps with tables over ranks. Used by one thread.
class MeasuredCollectives : public Collectives {
 public:
  // In the order of a step: the sum of integers of the step exchange, the three exchanges of the
  // table channel, and the sum of tensors with which ranks decide.
  enum Exchange { kStep, kIds, kRows, kSums, kVector, kExchanges };
  struct Total {
    double seconds = 0;  // inside start and wait
    // Of messages to other ranks: all bytes of the table channel and of sums of integers. Of sums
    // of tensors the content alone, once: Gloo chooses how it travels.
    int64_t bytes = 0;
  };
  using Totals = std::array<Total, kExchanges>;

  // `others` is borrowed.
  explicit MeasuredCollectives(Collectives& others) : others_(others) {}

  // Begins a step: the next exchange of the table channel is that of ids.
  void begin_step() { next_ = kIds; }
  // Returns what was added up since the last call.
  Totals take_totals();

  int rank() const override { return others_.rank(); }
  int world_size() const override { return others_.world_size(); }
  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override;
  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override;
  int64_t table_bytes_sent() const override { return others_.table_bytes_sent(); }
  std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) override;
  absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) override {
    return others_.all_gather(bytes);
  }
  absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) override {
    return others_.broadcast(bytes, root);
  }
  void set_phase(RankPhase phase, int64_t step) override { others_.set_phase(phase, step); }
  void fail(const absl::Status& reason) override { others_.fail(reason); }

 private:
  class Pending;

  Collectives& others_;
  Totals totals_ = {};
  int next_ = kIds;  // of the exchanges of the table channel
};

}  // namespace millrace

#endif  // MILLRACE_BENCH_MEASURED_COLLECTIVES_H_
