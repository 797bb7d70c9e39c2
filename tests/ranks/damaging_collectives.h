// Collectives of a rank whose table messages are damaged.
#ifndef MILLRACE_TESTS_RANKS_DAMAGING_COLLECTIVES_H_
#define MILLRACE_TESTS_RANKS_DAMAGING_COLLECTIVES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status_macros.h"
#include "distributed/forwarded_collectives.h"

namespace millrace {

// Forwards every call, but changes the messages of one exchange of the table channel.
class DamagingCollectives : public ForwardedCollectives {
 public:
  // Changes messages, ordered by rank. Null: changes none.
  using Damage = std::function<void(absl::Span<ByteBuffer> messages)>;

  // `exchange`: the number, from 0. `sent` changes copies of sent messages, `received` changes
  // received messages.
  DamagingCollectives(std::shared_ptr<Collectives> others, int64_t exchange, Damage sent,
                      Damage received)
      : ForwardedCollectives(std::move(others)),
        exchange_(exchange),
        damage_sent_(std::move(sent)),
        damage_received_(std::move(received)) {}

  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override {
    if (exchanges_++ != exchange_) return others().start_exchange(sent, received);
    if (damage_sent_) {
      sent_.resize(sent.size());
      for (size_t rank = 0; rank < sent.size(); ++rank) sent_[rank].append(sent[rank].view());
      damage_sent_(absl::MakeSpan(sent_));
      sent = sent_;
    }
    auto pending = others().start_exchange(sent, received);
    if (!damage_received_) return pending;
    return std::make_unique<Damaged>(std::move(pending), received, damage_received_);
  }

 private:
  class Damaged : public PendingCollective {
   public:
    Damaged(std::unique_ptr<PendingCollective> under, absl::Span<ByteBuffer> received,
            Damage damage)
        : under_(std::move(under)), received_(received), damage_(std::move(damage)) {}
    absl::Status wait() override {
      RETURN_IF_ERROR(under_->wait());
      damage_(received_);
      return absl::OkStatus();
    }

   private:
    const std::unique_ptr<PendingCollective> under_;
    const absl::Span<ByteBuffer> received_;
    const Damage damage_;
  };

  const int64_t exchange_;
  const Damage damage_sent_, damage_received_;
  int64_t exchanges_ = 0;
  std::vector<ByteBuffer> sent_;  // of the damaged exchange
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_DAMAGING_COLLECTIVES_H_
