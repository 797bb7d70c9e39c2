#include "tests/ranks/bad_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/forwarded_collectives.h"
#include "tests/fakes/recording_hook.h"

namespace millrace::bad_frames {
namespace {

using ::testing::HasSubstr;

// Collectives that pass everything on, but change what this rank sends to kReceiver in one
// exchange.
class DamagingCollectives : public ForwardedCollectives {
 public:
  // `exchange`: from 0.
  DamagingCollectives(std::unique_ptr<Collectives> under, int64_t exchange,
                      std::function<void(ByteBuffer&)> damage)
      : ForwardedCollectives(std::move(under)), exchange_(exchange), damage_(std::move(damage)) {}

  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override {
    if (exchanges_++ != exchange_) return others().start_exchange(sent, received);
    sent_.resize(sent.size());
    for (size_t rank = 0; rank < sent.size(); ++rank) sent_[rank].append(sent[rank].view());
    damage_(sent_[kReceiver]);
    return others().start_exchange(sent_, received);
  }

 private:
  const int64_t exchange_;
  const std::function<void(ByteBuffer&)> damage_;
  int64_t exchanges_ = 0;
  std::vector<ByteBuffer> sent_;  // of the damaged exchange
};

void flip(ByteBuffer& frame, size_t byte) { frame.data()[byte] ^= 0x55; }

}  // namespace

const std::vector<Exchange>& exchanges() {
  static const auto* exchanges =
      new std::vector<Exchange>{{"ids", 0},           {"rows", 1},           {"sums", 2},
                                {"later ids", 3},     {"later rows", 4},     {"later sums", 5},
                                {"evaluated ids", 6}, {"evaluated rows", 7}, {"ids after", 10}};
  return *exchanges;
}

const std::vector<Damage>& damages() {
  static const auto* damages = new std::vector<Damage>{
      {"empty", [](ByteBuffer& frame) { frame.clear(); },
       "rank 1 sent what is no message of tables"},
      {"another magic number", [](ByteBuffer& frame) { flip(frame, 0); },
       "rank 1 sent what is no message of tables"},
      {"another kind", [](ByteBuffer& frame) { frame.data()[4] = frame.data()[4] % 3 + 1; },
       "rank 1 sent "},
      {"another phase", [](ByteBuffer& frame) { frame.data()[5] ^= 1; }, "rank 1 sent "},
      {"the header alone", [](ByteBuffer& frame) { frame.resize(8); }, "of rank 1"},
      {"a word is missing", [](ByteBuffer& frame) { frame.resize(frame.size() - 8); }, "of rank 1"},
      {"a word too many", [](ByteBuffer& frame) { frame.append("12345678"); },
       "8 bytes too many in a message of rank 1: it has other tables"},
      {"another part", [](ByteBuffer& frame) { flip(frame, 8); },
       "the frame holds something else there"},
      {"another set of tables", [](ByteBuffer& frame) { flip(frame, 16); },
       "they are for another set of tables"},
      {"a huge number of ids", [](ByteBuffer& frame) { std::memset(frame.data() + 24, 0x7f, 8); },
       "of rank 1"},
  };
  return *damages;
}

TinyTrainerOptions options_of(int rank) {
  TinyTrainerOptions options;
  options.train = {
      .batches = 4, .batch_size = 24, .rank = rank, .world_size = kRanks, .sparse = 2, .ids = 100};
  options.eval = options.train;
  options.eval.batches = 2;
  return options;
}

// Trains one rank; evaluates after step 2.
absl::Status train(const TinyTrainerOptions& options, std::unique_ptr<Collectives> collectives) {
  TrainerParts parts = tiny_parts(options);
  parts.collectives = std::move(collectives);
  ASSIGN_OR_RETURN(auto trainer, Trainer::create(options.trainer, std::move(parts)));
  std::vector<std::string> events;
  RETURN_IF_ERROR(trainer->add_hook(
      std::make_unique<RecordingHook>(&events, [](HookContext& context, absl::string_view event) {
        if (event == "after_step" && context.progress().step == 2) context.requests().evaluate();
        return absl::OkStatus();
      })));
  return trainer->train().status();
}

absl::Status train(std::unique_ptr<Collectives> collectives, int64_t exchange,
                   const std::function<void(ByteBuffer&)>& damage) {
  const TinyTrainerOptions options = options_of(collectives->rank());
  if (collectives->rank() != kSender) return train(options, std::move(collectives));
  return train(options,
               std::make_unique<DamagingCollectives>(std::move(collectives), exchange, damage));
}

void expect_damage_is_named(const std::vector<absl::Status>& ends, const Damage& damage) {
  EXPECT_THAT(ends[kReceiver], StatusIs(absl::StatusCode::kDataLoss, HasSubstr(damage.said)));
  EXPECT_THAT(ends[kReceiver].message(), HasSubstr("rank 1"));
  for (const int rank : {0, kSender}) {
    EXPECT_THAT(ends[rank], StatusIs(absl::StatusCode::kAborted, HasSubstr("rank 2 failed")));
    EXPECT_THAT(ends[rank].message(), HasSubstr(damage.said));
  }
}

}  // namespace millrace::bad_frames
