// Messages of tables that are damaged, of another place in the job or of another set of tables: all
// ranks end, and the error names the rank that sent the message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 3;
constexpr int kLiar = 1;

// Changes a frame.
using Damage = std::function<void(ByteBuffer&)>;

// Collectives that pass everything on, but change what this rank sends to rank 2 in one exchange.
class DamagingCollectives : public Collectives {
 public:
  // `exchange`: from 0.
  DamagingCollectives(std::unique_ptr<Collectives> under, int64_t exchange, Damage damage)
      : under_(std::move(under)), exchange_(exchange), damage_(std::move(damage)) {}

  int rank() const override { return under_->rank(); }
  int world_size() const override { return under_->world_size(); }
  int64_t table_bytes_sent() const override { return under_->table_bytes_sent(); }
  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override {
    return under_->start_sum(values);
  }
  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override {
    if (exchanges_++ != exchange_) return under_->start_exchange(sent, received);
    sent_.resize(sent.size());
    for (size_t rank = 0; rank < sent.size(); ++rank) sent_[rank].append(sent[rank].view());
    damage_(sent_[2]);
    return under_->start_exchange(sent_, received);
  }
  std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) override {
    return under_->start_sum(std::move(tensor));
  }
  absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) override {
    return under_->all_gather(bytes);
  }
  absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) override {
    return under_->broadcast(bytes, root);
  }
  void set_phase(RankPhase phase, int64_t step) override { under_->set_phase(phase, step); }
  void fail(const absl::Status& reason) override { under_->fail(reason); }

 private:
  const std::unique_ptr<Collectives> under_;
  const int64_t exchange_;
  const Damage damage_;
  int64_t exchanges_ = 0;
  std::vector<ByteBuffer> sent_;  // of the damaged exchange
};

TinyTrainerOptions tiny_options(int rank) {
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

std::vector<absl::Status> train_with(int64_t exchange, const Damage& damage) {
  return run_thread_ranks({.world_size = kRanks},
                          [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
                            const TinyTrainerOptions options = tiny_options(collectives->rank());
                            if (collectives->rank() != kLiar)
                              return train(options, std::move(collectives));
                            return train(options, std::make_unique<DamagingCollectives>(
                                                      std::move(collectives), exchange, damage));
                          });
}

// The exchanges of the first steps: three of each step, then two of each batch of the evaluation.
struct Exchange {
  const char* name;
  int64_t number;
};
constexpr Exchange kExchanges[] = {{"ids", 0},           {"rows", 1},           {"sums", 2},
                                   {"later ids", 3},     {"later rows", 4},     {"later sums", 5},
                                   {"evaluated ids", 6}, {"evaluated rows", 7}, {"ids after", 10}};

struct FrameDamage {
  const char* name;
  Damage damage;
  std::string said;  // by the rank that got the frame
};

void flip(ByteBuffer& frame, size_t byte) { frame.data()[byte] ^= 0x55; }

std::vector<FrameDamage> damages() {
  return {
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
}

TEST(BadFramesTest, EveryDamageOfEveryExchangeEndsAllRanks) {
  for (const Exchange& exchange : kExchanges) {
    for (const FrameDamage& damage : damages()) {
      SCOPED_TRACE(absl::StrCat(exchange.name, ": ", damage.name));
      const std::vector<absl::Status> ends = train_with(exchange.number, damage.damage);
      EXPECT_THAT(ends[2], StatusIs(absl::StatusCode::kDataLoss, HasSubstr(damage.said)));
      EXPECT_THAT(ends[2].message(), HasSubstr("rank 1"));
      for (const int rank : {0, kLiar}) {
        EXPECT_THAT(ends[rank], StatusIs(absl::StatusCode::kAborted, HasSubstr("rank 2 failed")));
        EXPECT_THAT(ends[rank].message(), HasSubstr(damage.said));
      }
    }
  }
}

// What is damaged may be a number, which nothing finds. Whatever it is, all ranks come to an end,
// and to the same one.
TEST(BadFramesTest, AnyByteEndsOrChangesANumber) {
  std::mt19937_64 random(3);
  int64_t found = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const Exchange& exchange = kExchanges[trial % std::size(kExchanges)];
    const uint64_t place = random();
    const auto value = static_cast<char>(1 + random() % 255);
    const std::vector<absl::Status> ends = train_with(
        exchange.number, [&](ByteBuffer& frame) { frame.data()[place % frame.size()] ^= value; });
    SCOPED_TRACE(absl::StrCat(exchange.name, ", trial ", trial, ": ", ends[2].ToString()));
    for (const absl::Status& end : ends) EXPECT_EQ(end.ok(), ends[0].ok()) << end;
    if (!ends[2].ok()) ++found;
  }
  EXPECT_GT(found, 20);
}

// Ranks whose tables differ: in a job of the program their configurations do, and they are refused
// before they connect.
TEST(BadFramesTest, OtherTablesOnOneRankAreNamed) {
  struct Difference {
    const char* name;
    std::function<void(TinyTrainerOptions&)> make;
  };
  const std::vector<Difference> differences = {
      {"row type", [](TinyTrainerOptions& o) { o.table.set_row_dtype(FLOAT16); }},
      {"frozen", [](TinyTrainerOptions& o) { o.table.set_frozen(true); }}};
  for (const Difference& difference : differences) {
    SCOPED_TRACE(difference.name);
    const std::vector<absl::Status> ends = run_thread_ranks(
        {.world_size = kRanks}, [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
          TinyTrainerOptions options = tiny_options(collectives->rank());
          if (collectives->rank() == kLiar) difference.make(options);
          return train(options, std::move(collectives));
        });
    for (const absl::Status& end : ends) {
      EXPECT_FALSE(end.ok());
      EXPECT_THAT(end.message(), HasSubstr("another set of tables"));
      EXPECT_THAT(end.message(), HasSubstr("all ranks of a job need the same model"));
    }
  }
}

}  // namespace
}  // namespace millrace
