#include "distributed/mesh/peer_connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <thread>

#include "base/status_matchers.h"
#include "distributed/mesh/connected_sockets_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PeerConnectionsTest : public testing::Test {
 protected:
  void connect(int world_size) {
    int rank = 0;
    for (std::vector<Socket>& sockets : connected_ranks(world_size)) {
      ranks_.push_back(std::make_unique<PeerConnections>("test", rank++, std::move(sockets)));
    }
  }

  // Waits until rank 0 has read `size` bytes from rank 1.
  std::string read_all(size_t size) {
    std::string text(size, '\0');
    size_t done = 0;
    EXPECT_OK(ranks_[0]->work_on_all([&](int peer) -> absl::StatusOr<short> {
      auto count = ranks_[0]->read(peer, text.data() + done, size - done);
      if (!count.ok()) return count.status();
      done += *count;
      return done < size ? POLLIN : 0;
    }));
    return text;
  }

  std::vector<std::unique_ptr<PeerConnections>> ranks_;
};

TEST_F(PeerConnectionsTest, WritesTwoPartsInOrder) {
  connect(2);
  EXPECT_EQ(ranks_[1]->write(0, "header", "payload"), 13);
  EXPECT_EQ(ranks_[1]->write(0, "x"), 1);
  EXPECT_EQ(read_all(14), "headerpayloadx");
}

TEST_F(PeerConnectionsTest, NeitherReadsNorWritesBlock) {
  connect(2);
  char byte;
  auto count = ranks_[0]->read(1, &byte, 1);
  ASSERT_OK(count.status());
  EXPECT_EQ(*count, 0);
  const std::string much(1 << 20, 'x');
  while (ranks_[0]->write(1, much, much) > 0) {
  }
  EXPECT_FALSE(ranks_[0]->is_broken(1));
}

TEST_F(PeerConnectionsTest, WorksOnEveryPeerBeginningWithTheNext) {
  connect(4);
  std::vector<int> worked;
  EXPECT_OK(ranks_[2]->work_on_all([&](int peer) -> absl::StatusOr<short> {
    worked.push_back(peer);
    return 0;
  }));
  EXPECT_THAT(worked, ElementsAre(3, 0, 1));
}

TEST_F(PeerConnectionsTest, FirstErrorOfTheWorkEndsIt) {
  connect(3);
  EXPECT_EQ(ranks_[0]->work_on_all([&](int peer) -> absl::StatusOr<short> {
    if (peer == 2) return absl::DataLossError("damaged");
    return POLLIN;
  }),
            absl::DataLossError("damaged"));
}

TEST_F(PeerConnectionsTest, WhatWasSentBeforeTheEndCanBeRead) {
  connect(2);
  EXPECT_EQ(ranks_[1]->write(0, "last words"), 10);
  ranks_.pop_back();
  EXPECT_TRUE(ranks_[0]->lost(1));
  // The first write may still succeed.
  while (!ranks_[0]->is_broken(1)) ranks_[0]->write(1, "x");
  EXPECT_EQ(ranks_[0]->write(1, "x"), 0);
  EXPECT_EQ(read_all(10), "last words");
  char byte;
  EXPECT_THAT(ranks_[0]->read(1, &byte, 1).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("the test connection to rank 1 is closed: ")));
}

TEST_F(PeerConnectionsTest, ShutDownEndsWork) {
  connect(2);
  std::thread other([&] { ranks_[0]->shut_down(); });
  for (int rank : {0, 1}) {
    EXPECT_THAT(ranks_[rank]->work_on_all([&](int peer) -> absl::StatusOr<short> {
      char byte;
      auto count = ranks_[rank]->read(peer, &byte, 1);
      if (!count.ok()) return count.status();
      return POLLIN;
    }),
                StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_TRUE(ranks_[rank]->lost(1 - rank));
  }
  other.join();
}

}  // namespace
}  // namespace millrace
