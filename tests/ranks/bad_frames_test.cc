// Tests table messages that are damaged, of another place in the job or of another set of tables:
// all ranks end, and the error names the rank that sent the message.
#include "tests/ranks/bad_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/thread_collectives.h"

namespace millrace::bad_frames {
namespace {

using ::testing::HasSubstr;

std::vector<absl::Status> train_with(int64_t exchange,
                                     const std::function<void(ByteBuffer&)>& damage) {
  return run_thread_ranks({.world_size = kRanks}, [&](std::unique_ptr<Collectives> collectives) {
    return train(std::move(collectives), exchange, damage);
  });
}

TEST(BadFramesTest, EveryDamageOfEveryExchangeEndsAllRanks) {
  for (const Exchange& exchange : exchanges()) {
    for (const Damage& damage : damages()) {
      SCOPED_TRACE(absl::StrCat(exchange.name, ": ", damage.name));
      expect_damage_is_named(train_with(exchange.number, damage.make), damage);
    }
  }
}

// The damage may change a number, which no check detects. In any case all ranks end, with the same
// outcome.
TEST(BadFramesTest, AnyByteEndsOrChangesANumber) {
  std::mt19937_64 random(3);
  int64_t found = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const Exchange& exchange = exchanges()[trial % exchanges().size()];
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

// The ranks have different tables. The program refuses such ranks before they connect, because
// their configurations differ.
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
          TinyTrainerOptions options = options_of(collectives->rank());
          if (collectives->rank() == kSender) difference.make(options);
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
}  // namespace millrace::bad_frames
