#include "distributed/mesh/frame_mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>

#include "base/status_matchers.h"
#include "distributed/mesh/connected_sockets_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Buffers = std::vector<ByteBuffer>;

// More than the buffers of a connection hold.
constexpr size_t kMany = 40'000'000;

// Returns the message of an exchange from one rank to another.
std::string text_of(int from, int to, int64_t ordinal, size_t size) {
  std::string block(1021, '\0');  // not a power of two, so that a shift is detected
  for (size_t i = 0; i < block.size(); ++i) {
    block[i] = static_cast<char>(i * 7 + from * 31 + to + ordinal);
  }
  std::string text;
  text.reserve(size + block.size());
  while (text.size() < size) text += block;
  text.resize(size);
  return text;
}

Buffers messages_of(int rank, int world_size, int64_t ordinal,
                    const std::function<size_t(int to)>& size) {
  Buffers sent(world_size);
  for (int to = 0; to < world_size; ++to) sent[to].append(text_of(rank, to, ordinal, size(to)));
  return sent;
}

// Runs `body` on one thread per rank.
void on_ranks(int world_size, const std::function<void(FrameMesh&, int rank)>& body) {
  auto meshes = connected_meshes<FrameMesh>(world_size);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back([&, rank] { body(*meshes[rank], rank); });
  }
  for (std::thread& rank : ranks) rank.join();
}

// A mesh of ranks 0 and 1, with the test in place of rank 1.
class LoneFrameMeshTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<Socket> peers(2);
    std::tie(peers[1], other_) = connected_pair();
    mesh_ = std::make_unique<FrameMesh>(0, std::move(peers));
    sent_ = Buffers(2);
    received_ = Buffers(2);
  }

  void say(absl::string_view bytes) {
    ASSERT_EQ(send(other_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
  }
  static std::string message(uint64_t ordinal, absl::string_view text, uint64_t size) {
    std::string bytes("mrrtable");
    bytes.append(reinterpret_cast<const char*>(&ordinal), 8);
    bytes.append(reinterpret_cast<const char*>(&size), 8);
    return bytes.append(text.data(), text.size());
  }
  static std::string message(uint64_t ordinal, absl::string_view text) {
    return message(ordinal, text, text.size());
  }
  absl::Status exchange(int64_t ordinal) {
    mesh_->start(ordinal, sent_, absl::MakeSpan(received_));
    return mesh_->wait(ordinal);
  }

  Socket other_;
  std::unique_ptr<FrameMesh> mesh_;
  Buffers sent_;
  Buffers received_;
};

TEST(FrameMeshTest, ExchangesBetweenAllRanks) {
  for (int world_size : {1, 2, 5}) {
    on_ranks(world_size, [&](FrameMesh& mesh, int rank) {
      Buffers received(world_size);
      int64_t bytes = 0;
      for (int64_t ordinal = 1; ordinal <= 50; ++ordinal) {
        const auto size = [&](int from, int to) { return (ordinal % 5) * (1000 * from + to); };
        const Buffers sent =
            messages_of(rank, world_size, ordinal, [&](int to) { return size(rank, to); });
        received[rank].append("to be cleared");
        mesh.start(ordinal, sent, absl::MakeSpan(received));
        ASSERT_OK(mesh.wait(ordinal));
        for (int from = 0; from < world_size; ++from) {
          if (from == rank) continue;
          ASSERT_EQ(received[from].view(), text_of(from, rank, ordinal, size(from, rank)));
          bytes += static_cast<int64_t>(FrameMesh::kHeaderBytes + sent[from].size());
        }
        EXPECT_TRUE(received[rank].empty());
        EXPECT_EQ(mesh.bytes_sent(), bytes);
      }
    });
  }
}

TEST(FrameMeshTest, LargeMessagesInBothDirectionsAtOnce) {
  on_ranks(3, [&](FrameMesh& mesh, int rank) {
    Buffers received(3);
    const Buffers sent = messages_of(rank, 3, 1, [&](int to) { return kMany + to; });
    mesh.start(1, sent, absl::MakeSpan(received));
    ASSERT_OK(mesh.wait(1));
    for (int from = 0; from < 3; ++from) {
      if (from == rank) continue;
      ASSERT_TRUE(received[from].view() == text_of(from, rank, 1, kMany + rank));
    }
  });
}

// All calls are on one thread: small messages are sent when start() returns.
TEST(FrameMeshTest, StartedMessagesArriveWithoutHelp) {
  auto meshes = connected_meshes<FrameMesh>(2);
  Buffers sent[2][2];
  Buffers received[2][2];
  for (int rank : {0, 1}) {
    for (int i : {0, 1}) {
      received[rank][i] = Buffers(2);
      sent[rank][i] = messages_of(rank, 2, i + 1, [&](int) { return 1000 * i; });
      meshes[rank]->start(i + 1, sent[rank][i], absl::MakeSpan(received[rank][i]));
    }
  }
  for (int rank : {0, 1}) {
    // The order differs from the order of starting.
    for (int i : {1, 0}) {
      EXPECT_OK(meshes[rank]->wait(i + 1));
      EXPECT_EQ(received[rank][i][1 - rank].view(), text_of(1 - rank, rank, i + 1, 1000 * i));
    }
  }
}

// Rank 1 starts the second exchange only after rank 0 has completed the first.
TEST(FrameMeshTest, WaitDoesNotDependOnLaterExchanges) {
  auto meshes = connected_meshes<FrameMesh>(2);
  const Buffers sent = messages_of(0, 2, 1, [](int) { return kMany; });
  Buffers received[2][2] = {{Buffers(2), Buffers(2)}, {Buffers(2), Buffers(2)}};
  std::thread rank_1([&] {
    meshes[1]->start(1, sent, absl::MakeSpan(received[1][0]));
    EXPECT_OK(meshes[1]->wait(1));
  });
  for (int i : {0, 1}) meshes[0]->start(i + 1, sent, absl::MakeSpan(received[0][i]));
  EXPECT_OK(meshes[0]->wait(1));
  rank_1.join();
  std::thread later([&] {
    meshes[1]->start(2, sent, absl::MakeSpan(received[1][1]));
    EXPECT_OK(meshes[1]->wait(2));
  });
  EXPECT_OK(meshes[0]->wait(2));
  later.join();
  for (int i : {0, 1}) EXPECT_TRUE(received[1][i][0].view() == sent[1].view());
}

TEST(FrameMeshTest, DroppedExchangesReachTheOthersAndLeaveBuffersAlone) {
  for (size_t size : {size_t{10}, kMany}) {
    on_ranks(2, [&](FrameMesh& mesh, int rank) {
      Buffers received(2);
      {
        Buffers dropped = messages_of(rank, 2, 1, [&](int) { return size; });
        Buffers unused(2);
        mesh.start(1, dropped, absl::MakeSpan(unused));
        if (rank == 0) {
          mesh.drop(1);
          std::memset(dropped[1].data(), 0, size);
        } else {
          ASSERT_OK(mesh.wait(1));
          EXPECT_TRUE(unused[0].view() == text_of(0, 1, 1, size));
        }
      }
      const Buffers sent = messages_of(rank, 2, 2, [&](int) { return size + 1; });
      mesh.start(2, sent, absl::MakeSpan(received));
      ASSERT_OK(mesh.wait(2));
      EXPECT_TRUE(received[1 - rank].view() == text_of(1 - rank, rank, 2, size + 1));
    });
  }
}

TEST(FrameMeshTest, BuffersKeepTheirMemory) {
  on_ranks(2, [&](FrameMesh& mesh, int rank) {
    Buffers received(2);
    const char* memory = nullptr;
    for (int64_t ordinal = 1; ordinal <= 10; ++ordinal) {
      const Buffers sent = messages_of(rank, 2, ordinal, [&](int) { return 3000 - ordinal; });
      mesh.start(ordinal, sent, absl::MakeSpan(received));
      ASSERT_OK(mesh.wait(ordinal));
      if (ordinal == 1) memory = received[1 - rank].data();
      EXPECT_EQ(received[1 - rank].data(), memory);
      EXPECT_EQ(received[1 - rank].size(), 3000 - ordinal);
    }
  });
}

TEST(FrameMeshTest, ShutDownEndsWaitsHereAndThere) {
  for (size_t size : {size_t{1}, kMany / 10}) {
    auto meshes = connected_meshes<FrameMesh>(2);
    // Runs exchanges until the first error, which must then persist.
    const auto run = [&](int rank) {
      const Buffers sent = messages_of(rank, 2, 1, [&](int) { return size; });
      Buffers received(2);
      absl::Status status;
      int64_t ordinal = 0;
      while (status.ok()) {
        if (rank == 1 && ordinal == 3) meshes[0]->shut_down();
        meshes[rank]->start(++ordinal, sent, absl::MakeSpan(received));
        status = meshes[rank]->wait(ordinal);
      }
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
      EXPECT_GE(ordinal, 3);  // rank 0 may still wait for its third exchange
      EXPECT_TRUE(meshes[rank]->lost(1 - rank));
      meshes[rank]->start(++ordinal, sent, absl::MakeSpan(received));
      EXPECT_THAT(meshes[rank]->wait(ordinal), StatusIs(absl::StatusCode::kUnavailable));
    };
    std::thread other([&] { run(1); });
    run(0);
    other.join();
  }
}

TEST_F(LoneFrameMeshTest, MessagesInPieces) {
  const std::string bytes = message(1, "abc") + message(2, "") + message(3, "d");
  std::thread other([&] {
    for (char byte : bytes) say(absl::string_view(&byte, 1));
  });
  for (const char* text : {"abc", "", "d"}) {
    const int64_t ordinal = text[0] == 'a' ? 1 : text[0] == '\0' ? 2 : 3;
    EXPECT_OK(exchange(ordinal));
    EXPECT_EQ(received_[1].view(), text);
  }
  other.join();
}

TEST_F(LoneFrameMeshTest, WhatItSends) {
  sent_[1].append("a message");
  mesh_->start(1, sent_, absl::MakeSpan(received_));
  std::string sent(33, '\0');
  ASSERT_EQ(recv(other_.get(), sent.data(), sent.size(), MSG_WAITALL), sent.size());
  EXPECT_EQ(sent, message(1, "a message"));
}

TEST_F(LoneFrameMeshTest, TimesOfWaitingAddUp) {
  const auto start = std::chrono::steady_clock::now();
  absl::Duration last = absl::ZeroDuration();
  for (int64_t ordinal = 1; ordinal <= 3; ++ordinal) {
    say(message(ordinal, "text"));
    ASSERT_OK(exchange(ordinal));
    const absl::Duration waited = mesh_->awaiting_ranks() + mesh_->transferring();
    EXPECT_GT(waited, last);
    EXPECT_GE(mesh_->awaiting_ranks(), absl::ZeroDuration());
    EXPECT_GT(mesh_->transferring(), absl::ZeroDuration());
    last = waited;
  }
  EXPECT_LE(last, absl::FromChrono(std::chrono::steady_clock::now() - start));
}

TEST_F(LoneFrameMeshTest, DamagedMessagesAreRefused) {
  std::string wrong_magic = message(1, "abc");
  wrong_magic[7] = 'x';
  for (const std::string& damaged :
       {message(2, "abc"), message(0, "abc"), message(uint64_t{1} << 63, ""), wrong_magic,
        message(1, "", (uint64_t{1} << 40) + 1), message(1, "", ~uint64_t{0}),
        std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), message(1, "abc") + message(1, "abc"),
        message(1, "abc", 2) + message(2, "abc")}) {
    SetUp();
    say(damaged);
    absl::Status status = exchange(1);
    if (status.ok()) status = exchange(2);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 AllOf(HasSubstr("rank 1"), HasSubstr("is no message of a rank"))));
  }
}

// Random bytes, and messages with one changed byte in the header, give an error or a message, but
// neither a crash nor an endless wait after the connection is closed.
TEST_F(LoneFrameMeshTest, RandomDamageIsAnError) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    SetUp();
    std::string bytes = message(1, "abc");
    if (round % 2 == 0) {
      // Excludes the high bytes of the length: sanitizers do not support running out of memory.
      bytes[random() % (FrameMesh::kHeaderBytes - 5)] ^= static_cast<char>(1 + random() % 255);
    } else {
      for (char& byte : bytes) byte = static_cast<char>(random());
    }
    say(bytes);
    other_ = Socket();
    // A message with a smaller length is also valid.
    EXPECT_TRUE(!exchange(1).ok() || received_[1].size() < 3) << round;
  }
}

TEST_F(LoneFrameMeshTest, ConnectionClosedWithinAMessage) {
  say(message(1, "abc", 1000));
  other_ = Socket();
  EXPECT_THAT(exchange(1), StatusIs(absl::StatusCode::kUnavailable,
                                    HasSubstr("the table connection to rank 1 is closed")));
}

// Closing a connection with unread data causes a reset.
TEST_F(LoneFrameMeshTest, ConnectionResetWhileMuchIsUnsent) {
  sent_[1].resize(kMany);
  std::memset(sent_[1].data(), 1, kMany);
  mesh_->start(1, sent_, absl::MakeSpan(received_));
  other_ = Socket();
  EXPECT_THAT(mesh_->wait(1), StatusIs(absl::StatusCode::kUnavailable,
                                       HasSubstr("the table connection to rank 1 is closed")));
}

}  // namespace
}  // namespace millrace
