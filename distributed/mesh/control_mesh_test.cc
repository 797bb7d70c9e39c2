#include "distributed/mesh/control_mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <tuple>

#include "base/status_matchers.h"
#include "distributed/mesh/connected_sockets_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Values = std::vector<int64_t>;

// More than the buffers of a connection hold.
constexpr int64_t kMany = int64_t{1} << 20;

// A mesh of ranks 0 and 1, with the test in place of rank 1.
class LoneMeshTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<Socket> peers(2);
    std::tie(peers[1], other_) = connected_pair();
    mesh_ = std::make_unique<ControlMesh>(0, std::move(peers));
  }

  void say(absl::string_view bytes) {
    ASSERT_EQ(send(other_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
  }
  static std::string message(uint64_t ordinal, uint64_t count, const Values& values) {
    std::string bytes(16 + 8 * values.size(), '\0');
    std::memcpy(&bytes[0], &ordinal, 8);
    std::memcpy(&bytes[8], &count, 8);
    if (!values.empty()) std::memcpy(&bytes[16], values.data(), 8 * values.size());
    return bytes;
  }
  absl::Status sum(int64_t ordinal, Values values) {
    mesh_->start(ordinal, values);
    return mesh_->wait(ordinal, absl::MakeSpan(values));
  }

  Socket other_;
  std::unique_ptr<ControlMesh> mesh_;
};

TEST(ControlMeshTest, SumsOverRanks) {
  for (int world_size : {1, 2, 5}) {
    auto meshes = connected_meshes<ControlMesh>(world_size);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < world_size; ++rank) {
      ranks.emplace_back([&, rank] {
        for (int64_t ordinal = 1; ordinal <= 100; ++ordinal) {
          Values values = {rank, ordinal, std::numeric_limits<int64_t>::max()};
          meshes[rank]->start(ordinal, values);
          ASSERT_OK(meshes[rank]->wait(ordinal, absl::MakeSpan(values)));
          const uint64_t wrapped = uint64_t{std::numeric_limits<int64_t>::max()} * world_size;
          EXPECT_THAT(values, ElementsAre(world_size * (world_size - 1) / 2, world_size * ordinal,
                                          static_cast<int64_t>(wrapped)));
        }
      });
    }
    for (std::thread& rank : ranks) rank.join();
  }
}

// All calls are on one thread: a message is sent when start() returns.
TEST(ControlMeshTest, StartedSumsArriveWithoutHelp) {
  auto meshes = connected_meshes<ControlMesh>(2);
  Values first[2] = {{1}, {2}};
  Values second[2] = {{10, 20}, {30, 40}};
  Values none;
  for (int rank : {0, 1}) {
    meshes[rank]->start(1, first[rank]);
    meshes[rank]->start(2, second[rank]);
    meshes[rank]->start(3, none);
  }
  // The order differs from the order of starting.
  for (int rank : {0, 1}) {
    EXPECT_OK(meshes[rank]->wait(2, absl::MakeSpan(second[rank])));
    EXPECT_OK(meshes[rank]->wait(3, absl::MakeSpan(none)));
    EXPECT_OK(meshes[rank]->wait(1, absl::MakeSpan(first[rank])));
    EXPECT_THAT(first[rank], ElementsAre(3));
    EXPECT_THAT(second[rank], ElementsAre(40, 60));
  }
}

TEST(ControlMeshTest, MessagesLargerThanAnyBuffer) {
  auto meshes = connected_meshes<ControlMesh>(3);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      Values small = {1};
      Values large(kMany);
      for (int64_t i = 0; i < kMany; ++i) large[i] = i * (rank + 1);
      meshes[rank]->start(1, large);
      meshes[rank]->start(2, small);  // is queued behind the large one
      ASSERT_OK(meshes[rank]->wait(2, absl::MakeSpan(small)));
      ASSERT_OK(meshes[rank]->wait(1, absl::MakeSpan(large)));
      EXPECT_EQ(small[0], 3);
      for (int64_t i = 0; i < kMany; ++i) ASSERT_EQ(large[i], 6 * i);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(ControlMeshTest, DroppedSumsLeaveTheirValuesAlone) {
  auto meshes = connected_meshes<ControlMesh>(2);
  Values dropped[2] = {{1, 2}, {3, 4}};
  Values next[2] = {{5}, {6}};
  meshes[0]->start(1, dropped[0]);
  meshes[0]->drop(1);  // before the other's values came
  meshes[1]->start(1, dropped[1]);
  for (int rank : {0, 1}) meshes[rank]->start(2, next[rank]);
  EXPECT_OK(meshes[0]->wait(2, absl::MakeSpan(next[0])));
  EXPECT_OK(meshes[1]->wait(2, absl::MakeSpan(next[1])));
  meshes[1]->drop(1);  // after
  EXPECT_THAT(dropped[0], ElementsAre(1, 2));
  EXPECT_THAT(dropped[1], ElementsAre(3, 4));
  EXPECT_EQ(next[0][0] + next[1][0], 22);
}

TEST(ControlMeshTest, LastWordsOfARankThatLeftCount) {
  auto meshes = connected_meshes<ControlMesh>(2);
  Values values = {1};
  meshes[0]->start(1, values);
  meshes[1]->start(1, values);
  meshes[1]->start(2, values);
  meshes[0]->start(2, values);
  meshes[1].reset();  // with messages of rank 0 unread
  EXPECT_OK(meshes[0]->wait(1, absl::MakeSpan(values)));
  EXPECT_OK(meshes[0]->wait(2, absl::MakeSpan(values)));
  EXPECT_EQ(values[0], 3);
  EXPECT_TRUE(meshes[0]->lost(1));
  meshes[0]->start(3, values);
  EXPECT_THAT(
      meshes[0]->wait(3, absl::MakeSpan(values)),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("connection to rank 1 is closed")));
}

TEST(ControlMeshTest, LostConnectionsAreKnown) {
  auto meshes = connected_meshes<ControlMesh>(3);
  EXPECT_FALSE(meshes[0]->lost(1));
  EXPECT_FALSE(meshes[0]->lost(2));
  meshes[2].reset();
  EXPECT_FALSE(meshes[0]->lost(1));
  EXPECT_TRUE(meshes[0]->lost(2));
}

TEST(ControlMeshTest, ShutDownEndsWaitsHereAndThere) {
  for (int64_t count : {int64_t{1}, kMany}) {
    auto meshes = connected_meshes<ControlMesh>(2);
    // Runs sums until the first error, which must then persist.
    const auto run = [&](int rank) {
      Values values(count);
      absl::Status status;
      int64_t ordinal = 0;
      for (; status.ok(); ++ordinal) {
        if (rank == 1 && ordinal == 3) meshes[0]->shut_down();
        meshes[rank]->start(ordinal + 1, values);
        status = meshes[rank]->wait(ordinal + 1, absl::MakeSpan(values));
      }
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
      EXPECT_GE(ordinal, 3);
      EXPECT_TRUE(meshes[rank]->lost(1 - rank));
      meshes[rank]->start(ordinal + 1, values);
      EXPECT_THAT(meshes[rank]->wait(ordinal + 1, absl::MakeSpan(values)),
                  StatusIs(absl::StatusCode::kUnavailable));
    };
    std::thread other([&] { run(1); });
    run(0);
    other.join();
  }
}

TEST_F(LoneMeshTest, MessagesInPieces) {
  const std::string bytes = message(1, 2, {5, 6}) + message(2, 0, {}) + message(3, 1, {7});
  std::thread other([&] {
    for (char byte : bytes) say(absl::string_view(&byte, 1));
  });
  Values values = {1, 2};
  mesh_->start(1, values);
  EXPECT_OK(mesh_->wait(1, absl::MakeSpan(values)));
  EXPECT_THAT(values, ElementsAre(6, 8));
  EXPECT_OK(sum(2, {}));
  EXPECT_OK(sum(3, {0}));
  other.join();
}

TEST_F(LoneMeshTest, WhatItSends) {
  mesh_->start(1, Values{3, -4});
  std::string sent(32, '\0');
  ASSERT_EQ(recv(other_.get(), sent.data(), sent.size(), MSG_WAITALL), sent.size());
  EXPECT_EQ(sent, message(1, 2, {3, -4}));
}

TEST_F(LoneMeshTest, AnotherNumberOfIntegersIsNamed) {
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                "exchange 1 is of 3 integers on rank 0 and of 2 on rank 1");
  say(message(1, 2, {5, 6}));
  EXPECT_THAT(sum(1, {1, 2, 3}), refused);
  SetUp();
  // Sends only the header, after this rank has started.
  mesh_->start(1, Values(3));
  say(message(1, 2, {}));
  Values values(3);
  EXPECT_THAT(mesh_->wait(1, absl::MakeSpan(values)), refused);
}

// The message came while this rank waited for an earlier sum.
TEST_F(LoneMeshTest, AnotherNumberOfIntegersAheadIsNamed) {
  say(message(1, 1, {5}) + message(2, 1, {6}));
  EXPECT_OK(sum(1, {1}));
  EXPECT_THAT(sum(2, {}), StatusIs(absl::StatusCode::kFailedPrecondition,
                                   "exchange 2 is of 0 integers on rank 0 and of 1 on rank 1"));
}

TEST_F(LoneMeshTest, WhatIsNoMessageIsRefused) {
  for (const std::string& garbage :
       {message(2, 1, {5}), message(0, 1, {5}), message(1, uint64_t{1} << 60, {}),
        std::string("GET / HTTP/1.1\r\n\r\n"), message(1, 1, {5}) + message(1, 1, {5})}) {
    SetUp();
    say(garbage);
    absl::Status status = sum(1, {1});
    if (status.ok()) status = sum(2, {1});
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 AllOf(HasSubstr("rank 1"), HasSubstr("is no message of a rank"))));
  }
}

// No memory is taken for values that no sum of this rank can have.
TEST_F(LoneMeshTest, ADroppedSumIsNotLongerThanAnyOther) {
  for (int64_t ordinal : {1, 2}) {
    mesh_->start(ordinal, Values{1, 2});
    mesh_->drop(ordinal);
  }
  say(message(1, 2, {3, 4}) + message(2, 3, {5}));
  EXPECT_THAT(sum(3, {1}), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    AllOf(HasSubstr("its exchange 2 is no message of a rank"),
                                          HasSubstr("3 integers"))));
}

TEST_F(LoneMeshTest, ConnectionClosedWithinAMessage) {
  say(message(1, 2, {5}));
  other_ = Socket();
  EXPECT_THAT(sum(1, {1, 2}), StatusIs(absl::StatusCode::kUnavailable,
                                       HasSubstr("connection to rank 1 is closed")));
}

// Closing a connection with unread data causes a reset.
TEST_F(LoneMeshTest, ConnectionResetWhileMuchIsUnsent) {
  Values values(kMany);
  mesh_->start(1, values);
  other_ = Socket();
  EXPECT_THAT(
      mesh_->wait(1, absl::MakeSpan(values)),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("connection to rank 1 is closed")));
}

}  // namespace
}  // namespace millrace
