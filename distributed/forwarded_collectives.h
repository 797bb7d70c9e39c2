// Collectives that forward all calls.
#ifndef MILLRACE_DISTRIBUTED_FORWARDED_COLLECTIVES_H_
#define MILLRACE_DISTRIBUTED_FORWARDED_COLLECTIVES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "distributed/collectives.h"

namespace millrace {

// Forwards every function to other Collectives. Subclasses override some functions.
class ForwardedCollectives : public Collectives {
 public:
  explicit ForwardedCollectives(std::shared_ptr<Collectives> others) : others_(std::move(others)) {}
  // Borrows `others`.
  explicit ForwardedCollectives(Collectives& others)
      : others_(std::shared_ptr<Collectives>(), &others) {}

  int rank() const override { return others_->rank(); }
  int world_size() const override { return others_->world_size(); }
  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override {
    return others_->start_sum(values);
  }
  std::unique_ptr<PendingCollective> start_sum(absl::Span<double> values) override {
    return others_->start_sum(values);
  }
  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override {
    return others_->start_exchange(sent, received);
  }
  TableTraffic table_traffic() const override { return others_->table_traffic(); }
  std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) override {
    return others_->start_sum(std::move(tensor));
  }
  absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) override {
    return others_->all_gather(bytes);
  }
  absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) override {
    return others_->broadcast(bytes, root);
  }
  void set_phase(RankPhase phase, int64_t step) override { others_->set_phase(phase, step); }
  absl::Status failure() override { return others_->failure(); }
  void fail(const absl::Status& reason) override { others_->fail(reason); }

 protected:
  Collectives& others() const { return *others_; }

 private:
  const std::shared_ptr<Collectives> others_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_FORWARDED_COLLECTIVES_H_
