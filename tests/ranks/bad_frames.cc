#include "tests/ranks/bad_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "tests/fakes/recording_hook.h"
#include "tests/ranks/damaging_collectives.h"

namespace millrace::bad_frames {
namespace {

using ::testing::HasSubstr;

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

// Trains a rank; evaluates after step 2.
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
  const auto damage_sent = [damage](absl::Span<ByteBuffer> sent) { damage(sent[kReceiver]); };
  return train(options, std::make_unique<DamagingCollectives>(std::move(collectives), exchange,
                                                              damage_sent, /*received=*/nullptr));
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
