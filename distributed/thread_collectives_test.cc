// Properties of thread ranks beyond the conformance suite.
#include "distributed/thread_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/byte_buffer.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Buffers = std::vector<ByteBuffer>;

Buffers messages(int world_size, absl::string_view text) {
  Buffers buffers(world_size);
  for (ByteBuffer& buffer : buffers) buffer.append(text);
  return buffers;
}

TEST(ThreadCollectivesTest, InjectionKnowsTheChannel) {
  Mutex mutex;
  std::vector<Channel> channels;
  ThreadRanksOptions options;
  options.inject = [&](const CollectiveCall& call) {
    MutexLock lock(mutex);
    if (call.rank == 0) channels.push_back(call.channel);
    EXPECT_LT(call.ordinal, 3);
    return absl::OkStatus();
  };
  const auto outcomes = run_thread_ranks(options, [](std::unique_ptr<Collectives> c) {
    std::vector<int64_t> values = {1};
    const Buffers sent(2);
    Buffers received(2);
    RETURN_IF_ERROR(c->start_exchange(sent, absl::MakeSpan(received))->wait());
    RETURN_IF_ERROR(c->start_sum(absl::MakeSpan(values))->wait());
    return c->all_gather("x").status();
  });
  for (const absl::Status& outcome : outcomes) EXPECT_OK(outcome);
  EXPECT_THAT(channels, ElementsAre(Channel::kTables, Channel::kControl, Channel::kData));
}

TEST(ThreadCollectivesTest, ReceivedBuffersArePoisonedUntilTheExchangeIsOver) {
  const auto outcomes = run_thread_ranks({}, [](std::unique_ptr<Collectives> c) {
    const int other = 1 - c->rank();
    const Buffers sent = messages(2, "new");
    Buffers empty(2);
    Buffers used = messages(2, std::string(1000, 'x'));
    auto first = c->start_exchange(sent, absl::MakeSpan(empty));
    auto second = c->start_exchange(sent, absl::MakeSpan(used));
    for (const Buffers* received : {&empty, &used}) {
      const absl::string_view text = received->at(other).view();
      EXPECT_GE(text.size(), 64);
      EXPECT_EQ(text.find_first_not_of('\xa5'), absl::string_view::npos);
    }
    RETURN_IF_ERROR(first->wait());
    RETURN_IF_ERROR(second->wait());
    EXPECT_EQ(empty[other].view(), "new");
    EXPECT_EQ(used[other].view(), "new");
    return absl::OkStatus();
  });
  for (const absl::Status& outcome : outcomes) EXPECT_OK(outcome);
}

TEST(ThreadCollectivesTest, MessagesThatChangeUnderWayAreAnError) {
  const auto outcomes = run_thread_ranks({}, [](std::unique_ptr<Collectives> c) {
    Buffers sent = messages(2, "a message");
    Buffers received(2);
    auto pending = c->start_exchange(sent, absl::MakeSpan(received));
    if (c->rank() == 1) sent[0].data()[3] = 'x';
    const absl::Status status = pending->wait();
    if (c->rank() == 0) {
      EXPECT_OK(status);
      EXPECT_EQ(received[1].view(), "a message");
    }
    std::vector<int64_t> values = {1};
    return c->start_sum(absl::MakeSpan(values))->wait();
  });
  EXPECT_THAT(outcomes[0], StatusIs(absl::StatusCode::kAborted,
                                    HasSubstr("messages of an exchange changed before")));
  EXPECT_THAT(outcomes[1], StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(ThreadCollectivesTest, DeathInAnExchangeIsNamed) {
  ThreadRanksOptions options;
  options.world_size = 3;
  options.inject = [](const CollectiveCall& call) {
    return call.rank == 1 && call.channel == Channel::kTables ? absl::InternalError("died")
                                                              : absl::OkStatus();
  };
  const auto outcomes = run_thread_ranks(options, [](std::unique_ptr<Collectives> c) {
    c->set_phase(RankPhase::kForward, 4);
    const Buffers sent = messages(3, "x");
    Buffers received(3);
    return c->start_exchange(sent, absl::MakeSpan(received))->wait();
  });
  for (int rank : {0, 2}) {
    EXPECT_THAT(outcomes[rank],
                StatusIs(absl::StatusCode::kAborted, "rank 1 failed in forward of step 4: died"));
  }
  EXPECT_THAT(outcomes[1], StatusIs(absl::StatusCode::kInternal, "died"));
}

}  // namespace
}  // namespace millrace
