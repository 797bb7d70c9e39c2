#include "bench/ranks/measured_collectives.h"

#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <utility>

namespace millrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Bytes before the integers of a sum on the control channel (docs/distributed.md).
constexpr int64_t kControlHeaderBytes = 16;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

}  // namespace

// Adds the time of waiting to the time of starting.
class MeasuredCollectives::Pending : public PendingCollective {
 public:
  // `bytes` is called when the collective has ended.
  Pending(std::unique_ptr<PendingCollective> pending, Total& total, std::function<int64_t()> bytes)
      : pending_(std::move(pending)), total_(total), bytes_(std::move(bytes)) {}
  absl::Status wait() override {
    const auto start = SteadyClock::now();
    const absl::Status status = pending_->wait();
    if (!over_) {
      total_.seconds += seconds_since(start);
      total_.bytes += bytes_();
    }
    over_ = true;
    return status;
  }

 private:
  const std::unique_ptr<PendingCollective> pending_;
  Total& total_;
  const std::function<int64_t()> bytes_;
  bool over_ = false;
};

MeasuredCollectives::Totals MeasuredCollectives::take_totals() {
  return std::exchange(totals_, Totals{});
}

std::unique_ptr<PendingCollective> MeasuredCollectives::start_sum(absl::Span<int64_t> values) {
  return measure_sum(values, totals_[kStep]);
}

std::unique_ptr<PendingCollective> MeasuredCollectives::start_sum(absl::Span<double> values) {
  return measure_sum(values, totals_[kVector]);
}

template <typename Number>
std::unique_ptr<PendingCollective> MeasuredCollectives::measure_sum(absl::Span<Number> values,
                                                                    Total& total) {
  const int64_t bytes = (world_size() - 1) * (kControlHeaderBytes +
                                              static_cast<int64_t>(values.size() * sizeof(Number)));
  const auto start = SteadyClock::now();
  std::unique_ptr<PendingCollective> pending = others().start_sum(values);
  total.seconds += seconds_since(start);
  return std::make_unique<Pending>(std::move(pending), total, [bytes] { return bytes; });
}

std::unique_ptr<PendingCollective> MeasuredCollectives::start_exchange(
    absl::Span<const ByteBuffer> sent, absl::Span<ByteBuffer> received) {
  Total& total = totals_[next_];
  // A batch outside training has no exchange of sums.
  next_ = next_ == kSums ? kIds : next_ + 1;
  const int64_t before = others().table_traffic().bytes_sent;
  const auto start = SteadyClock::now();
  std::unique_ptr<PendingCollective> pending = others().start_exchange(sent, received);
  total.seconds += seconds_since(start);
  return std::make_unique<Pending>(std::move(pending), total, [this, before] {
    return others().table_traffic().bytes_sent - before;
  });
}

}  // namespace millrace
