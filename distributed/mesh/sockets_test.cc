#include "distributed/mesh/sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SocketAddress loopback(int port) {
  auto addresses = find_addresses("127.0.0.1", port);
  EXPECT_THAT(addresses, IsOk());
  return addresses->at(0);
}

TEST(SocketsTest, AddressesByNumberAndName) {
  ASSERT_OK_AND_ASSIGN(auto addresses, find_addresses("127.0.0.1", 29500));
  ASSERT_EQ(addresses.size(), 1);
  EXPECT_EQ(addresses[0].ip(), "127.0.0.1");
  EXPECT_EQ(addresses[0].port(), 29500);
  ASSERT_OK_AND_ASSIGN(addresses, find_addresses("::1", 7));
  EXPECT_EQ(addresses[0].ip(), "::1");
  ASSERT_OK_AND_ASSIGN(addresses, find_addresses("localhost", 7));
  EXPECT_EQ(addresses[0].ip(), "127.0.0.1") << "IPv4 goes first";
  EXPECT_THAT(find_addresses("no.such.host.invalid", 7),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no.such.host.invalid")));
}

TEST(SocketsTest, Ipv4WrittenAsIpv6IsTheSameAddress) {
  ASSERT_OK_AND_ASSIGN(auto addresses, find_addresses("::ffff:127.0.0.1", 80));
  EXPECT_EQ(addresses[0].ip(), "127.0.0.1");
  EXPECT_EQ(addresses[0].family(), AF_INET);
  EXPECT_TRUE(addresses[0] == loopback(80));
  EXPECT_FALSE(addresses[0] == loopback(81));
}

TEST(SocketsTest, TakenPortIsNamed) {
  ASSERT_OK_AND_ASSIGN(Socket first, listen_on(loopback(0)));
  ASSERT_OK_AND_ASSIGN(SocketAddress address, local_address(first));
  EXPECT_THAT(listen_on(address),
              StatusIs(absl::StatusCode::kUnavailable,
                       "port " + std::to_string(address.port()) + " of 127.0.0.1 is taken"));
  first = Socket();
  EXPECT_OK(listen_on(address).status());
}

TEST(SocketsTest, AddressOfAnotherMachineIsRefused) {
  ASSERT_OK_AND_ASSIGN(auto addresses, find_addresses("192.0.2.1", 7));
  EXPECT_THAT(listen_on(addresses[0]), StatusIs(absl::StatusCode::kUnavailable,
                                                "192.0.2.1 is not an address of this machine"));
}

TEST(SocketsTest, ConnectAndAsk) {
  ASSERT_OK_AND_ASSIGN(Socket server, listen_on(loopback(0)));
  ASSERT_OK_AND_ASSIGN(SocketAddress address, local_address(server));
  ASSERT_OK_AND_ASSIGN(Socket client, connect_to(address, absl::Seconds(5)));
  Socket accepted(accept(server.get(), nullptr, nullptr));
  ASSERT_EQ(write(accepted.get(), "pong", 4), 4);
  EXPECT_THAT(ask(client, "ping", 4, absl::Seconds(5)), IsOkAndHolds("pong"));
  char request[4];
  ASSERT_EQ(read(accepted.get(), request, 4), 4);
  EXPECT_EQ(std::string(request, 4), "ping");

  EXPECT_THAT(ask(client, "ping", 4, absl::Milliseconds(10)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_EQ(write(accepted.get(), "po", 2), 2);
  accepted = Socket();
  EXPECT_THAT(ask(client, "ping", 4, absl::Seconds(5)), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(SocketsTest, NobodyListens) {
  ASSERT_OK_AND_ASSIGN(Socket server, listen_on(loopback(0)));
  ASSERT_OK_AND_ASSIGN(SocketAddress address, local_address(server));
  server = Socket();
  EXPECT_THAT(connect_to(address, absl::Seconds(5)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Connection refused")));
}

TEST(SocketsTest, InterfaceThatLeadsToAnAddress) {
  EXPECT_THAT(ip_towards(loopback(80)), IsOkAndHolds("127.0.0.1"));
}

TEST(SocketsTest, WaitsOfAConnectedSocketAreLimited) {
  ASSERT_OK_AND_ASSIGN(Socket server, listen_on(loopback(0)));
  ASSERT_OK_AND_ASSIGN(SocketAddress address, local_address(server));
  EXPECT_THAT(sockets_connected_to(address), IsEmpty());
  ASSERT_OK_AND_ASSIGN(Socket client, connect_to(address, absl::Seconds(5)));
  EXPECT_THAT(sockets_connected_to(address), Contains(client.get()));
  EXPECT_THAT(sockets_connected_to(address), Not(Contains(server.get())));

  Socket pair[2];
  int descriptors[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, descriptors), 0);
  pair[0] = Socket(descriptors[0]);
  pair[1] = Socket(descriptors[1]);
  limit_waits(descriptors[0], absl::Milliseconds(20));
  char byte;
  EXPECT_EQ(recv(descriptors[0], &byte, 1, 0), -1);
  EXPECT_THAT(errno, AnyOf(EAGAIN, EWOULDBLOCK));
}

TEST(SocketsTest, BrokenPipeIsAnErrorUnlessItIsHandled) {
  signal(SIGPIPE, SIG_DFL);
  ignore_broken_pipes();
  int descriptors[2];
  ASSERT_EQ(pipe(descriptors), 0);
  Socket reader(descriptors[0]);
  Socket writer(descriptors[1]);
  reader = Socket();
  EXPECT_EQ(write(writer.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);

  auto handler = [](int) {};
  signal(SIGPIPE, handler);
  ignore_broken_pipes();
  EXPECT_EQ(signal(SIGPIPE, SIG_IGN), static_cast<void (*)(int)>(handler));
}

TEST(SocketsTest, SocketIsClosedOnceByItsOwner) {
  int descriptors[2];
  ASSERT_EQ(pipe(descriptors), 0);
  Socket reader(descriptors[0]);
  Socket writer(descriptors[1]);
  Socket moved = std::move(writer);
  EXPECT_EQ(writer.get(), -1);
  EXPECT_EQ(write(moved.get(), "x", 1), 1);
  moved = Socket();
  char bytes[2];
  EXPECT_EQ(read(reader.get(), bytes, 2), 1);
  EXPECT_EQ(read(reader.get(), bytes, 2), 0) << "the end of the pipe";
}

}  // namespace
}  // namespace millrace
