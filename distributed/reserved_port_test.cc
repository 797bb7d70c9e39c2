#include "distributed/reserved_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

SocketAddress loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return SocketAddress(reinterpret_cast<sockaddr*>(&address), sizeof(address));
}

TEST(ReservedPortTest, NobodyListensAndOneCan) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  EXPECT_GT(port.number, 1023);
  EXPECT_THAT(connect_to(loopback(port.number), absl::Seconds(5)).status(),
              StatusIs(absl::StatusCode::kUnavailable));
  ASSERT_OK(listen_on(loopback(port.number)));
}

TEST(ReservedPortTest, OthersAreNotGivenIt) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  const Socket other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress address = loopback(port.number);
  EXPECT_NE(::bind(other.get(), address.get(), address.length()), 0);
  EXPECT_EQ(errno, EADDRINUSE);
  ASSERT_OK_AND_ASSIGN(const ReservedPort second, reserve_port());
  EXPECT_NE(second.number, port.number);
}

TEST(ReservedPortTest, ListeningOnItTakesIt) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  ASSERT_EQ(::listen(port.socket.get(), 1), 0);
  EXPECT_THAT(listen_on(loopback(port.number)).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is taken")));
}

}  // namespace
}  // namespace millrace
