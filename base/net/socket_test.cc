#include "base/net/socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Deadline soon() { return Deadline(absl::Seconds(10)); }
Deadline at_once() { return Deadline(absl::Milliseconds(10)); }

SocketAddress address_of(const std::string& host, int port = 0) {
  return find_addresses(host, port).value()[0];
}

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

// The two ends of a pipe.
struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read = Socket(ends[0]);
    write = Socket(ends[1]);
  }
  Socket read, write;
};

TEST(SocketTest, ClosesItsDescriptorOnce) {
  int read = -1, write = -1;
  {
    Pipe pipe;
    read = pipe.read.get();
    write = pipe.write.get();
    Socket moved = std::move(pipe.read);
    EXPECT_EQ(moved.get(), read);
    EXPECT_TRUE(is_open(read));
    moved = std::move(pipe.write);
    EXPECT_FALSE(is_open(read));
    EXPECT_EQ(moved.release(), write);
    EXPECT_EQ(moved.get(), -1);
  }
  EXPECT_TRUE(is_open(write)) << "it was given up";
  ::close(write);
  { const Socket other = std::move(Pipe().read); }
}

TEST(DeadlineTest, DependsOnElapsedTimeAlone) {
  FakeClock clock;
  const Deadline deadline(absl::Seconds(2), clock);
  EXPECT_EQ(deadline.left(), absl::Seconds(2));
  clock.advance(absl::Milliseconds(1500));
  EXPECT_EQ(deadline.left(), absl::Milliseconds(500));
  clock.advance(absl::Seconds(1));
  EXPECT_EQ(deadline.left(), absl::ZeroDuration());
  EXPECT_EQ(Deadline::never().left(), absl::InfiniteDuration());
}

TEST(PollUntilTest, ReturnsWhenADescriptorIsReady) {
  Pipe first, second;
  ASSERT_EQ(::write(second.write.get(), "x", 1), 1);
  pollfd polled[] = {{first.read.get(), POLLIN, 0}, {second.read.get(), POLLIN, 0}};
  EXPECT_EQ(poll_until(absl::MakeSpan(polled), Deadline::never()), 1);
  EXPECT_EQ(polled[0].revents, 0);
  EXPECT_EQ(polled[1].revents, POLLIN);
  EXPECT_EQ(poll_until(absl::MakeSpan(polled), Deadline(absl::ZeroDuration())), 1)
      << "after the deadline, too, what is ready is found";
}

TEST(PollUntilTest, WaitsUntilTheDeadline) {
  Pipe pipe;
  pollfd polled[] = {{pipe.read.get(), POLLIN, 0}};
  const absl::Duration begin = Clock::real().elapsed();
  EXPECT_EQ(poll_until(absl::MakeSpan(polled), Deadline(absl::Milliseconds(30))), 0);
  EXPECT_GE(Clock::real().elapsed() - begin, absl::Milliseconds(30));
}

TEST(PollUntilTest, ReturnsErrorsOfPoll) {
  EXPECT_EQ(poll_until(absl::Span<pollfd>(nullptr, size_t{1} << 31), Deadline::never()), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(SocketAddressTest, OfNumbersAndNames) {
  struct Case {
    const char* host;
    int family;
    const char* ip;
    const char* text;
  };
  for (const char* loopback : {"127.0.0.1", "127.0.1.1", "::1"}) {
    EXPECT_TRUE(address_of(loopback).is_loopback());
  }
  for (const char* network : {"10.0.0.1", "0.0.0.0", "fd00::1"}) {
    EXPECT_FALSE(address_of(network).is_loopback());
  }
  for (const Case& example : {
           Case{"127.0.0.1", AF_INET, "127.0.0.1", "127.0.0.1:29500"},
           Case{"::1", AF_INET6, "::1", "[::1]:29500"},
           Case{"localhost", AF_INET, "127.0.0.1", "127.0.0.1:29500"},  // IPv4 goes first
           Case{"::ffff:127.0.0.1", AF_INET, "127.0.0.1", "127.0.0.1:29500"},
       }) {
    const SocketAddress address = address_of(example.host, 29500);
    EXPECT_EQ(address.family(), example.family) << example.host;
    EXPECT_EQ(address.ip(), example.ip) << example.host;
    EXPECT_EQ(address.text(), example.text) << example.host;
    EXPECT_TRUE(address == address_of(example.ip, 29500)) << example.host;
    EXPECT_FALSE(address == address_of(example.ip, 29501)) << example.host;
  }
  EXPECT_THAT(find_addresses("no.such.host.invalid", 7),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no.such.host.invalid")));
  EXPECT_THAT(ip_towards(address_of("127.0.0.1", 80)), IsOkAndHolds("127.0.0.1"));
  EXPECT_THAT(interface_address("lo", 80), IsOkAndHolds(address_of("127.0.0.1", 80)));
  EXPECT_THAT(interface_address("eth77", 80),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"eth77\" is no interface of this machine with an address; these "
                                 "are: ")));
}

// Listens and connects, by IPv4 and IPv6.
class ConnectionTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto listener = listen_on(address_of(GetParam()));
    if (!listener.ok()) GTEST_SKIP() << skip_kernel_feature("IPv6", "no address ::1");
    listener_ = *std::move(listener);
    address_ = local_address(listener_).value();
  }

  Socket listener_;
  SocketAddress address_;
};

INSTANTIATE_TEST_SUITE_P(Each, ConnectionTest, testing::Values("127.0.0.1", "::1"),
                         [](const auto& info) { return info.param[0] == ':' ? "Ipv6" : "Ipv4"; });

TEST_P(ConnectionTest, TransfersAllUntilTheDeadline) {
  EXPECT_THAT(sockets_connected_to(address_), IsEmpty());
  EXPECT_THAT(accept_from(listener_, at_once()), StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_OK_AND_ASSIGN(Socket client, connect_to(address_, soon()));
  ASSERT_OK_AND_ASSIGN(Socket server, accept_from(listener_, soon()));
  EXPECT_THAT(sockets_connected_to(address_), Contains(client.get()));
  EXPECT_THAT(sockets_connected_to(address_), Not(Contains(server.get())));
  for (const Socket* socket : {&client, &server}) {
    int on = 0;
    socklen_t length = sizeof(on);
    ASSERT_EQ(::getsockopt(socket->get(), IPPROTO_TCP, TCP_NODELAY, &on, &length), 0);
    EXPECT_NE(on, 0);
    EXPECT_NE(::fcntl(socket->get(), F_GETFL) & O_NONBLOCK, 0);
  }

  EXPECT_THAT(sockets_connected_from(address_.ip()),
              AllOf(Contains(client.get()), Contains(server.get())));
  EXPECT_THAT(sockets_connected_from("192.0.2.1"), IsEmpty());
  detect_loss(client.get(), absl::Seconds(120));
  const std::pair<std::pair<int, int>, int> expected[] = {
      {{SOL_SOCKET, SO_KEEPALIVE}, 1},
      {{IPPROTO_TCP, TCP_KEEPIDLE}, 30},
      {{IPPROTO_TCP, TCP_KEEPINTVL}, 10},
      {{IPPROTO_TCP, TCP_USER_TIMEOUT}, 120000}};
  for (const auto& [option, value] : expected) {
    int set = 0;
    socklen_t length = sizeof(set);
    ASSERT_EQ(::getsockopt(client.get(), option.first, option.second, &set, &length), 0);
    EXPECT_EQ(set, value) << option.second;
  }

  ASSERT_OK(send_all(client, "ping", soon()));
  EXPECT_THAT(receive_all(server, 4, soon()), IsOkAndHolds("ping"));
  EXPECT_THAT(receive_all(server, 4, at_once()), StatusIs(absl::StatusCode::kDeadlineExceeded));
  const std::string much(64 << 20, 'x');  // more than the kernel stores
  EXPECT_THAT(send_all(client, much, at_once()), StatusIs(absl::StatusCode::kDeadlineExceeded));

  ASSERT_OK(send_all(server, "po", soon()));
  server = Socket();
  EXPECT_THAT(receive_all(client, 4, soon()), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(send_all(client, much, soon()), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_P(ConnectionTest, AddressesThatCannotBeUsed) {
  EXPECT_THAT(listen_on(address_),
              StatusIs(absl::StatusCode::kUnavailable,
                       absl::StrCat("port ", address_.port(), " of ", GetParam(), " is taken")));
  ::shutdown(listener_.get(), SHUT_RDWR);
  EXPECT_THAT(accept_from(listener_, soon()), StatusIs(absl::StatusCode::kUnavailable));
  listener_ = Socket();
  EXPECT_THAT(
      connect_to(address_, soon()),
      StatusIs(absl::StatusCode::kUnavailable,
               absl::StrCat("cannot connect to ", address_.text(), ": Connection refused")));
  EXPECT_OK(listen_on(address_).status());
  EXPECT_THAT(
      listen_on(address_of("192.0.2.1")),
      StatusIs(absl::StatusCode::kUnavailable, "192.0.2.1 is not an address of this machine"));
}

// No route says nothing of the other side, unlike a refusal.
TEST(ConnectToTest, NoRouteIsNoAnswer) {
  EXPECT_THAT(connect_to(address_of("255.255.255.255", 80), soon()),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "cannot connect to 255.255.255.255:80: Network is unreachable"));
}

TEST(ListenOnTest, TooManyOpenFilesAreNamed) {
  const SocketAddress address = address_of("127.0.0.1");
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto socket = listen_on(address);
  const auto connection = connect_to(address, soon());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(connection.status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("Too many open files")));
  EXPECT_THAT(socket.status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Too many open files")));
}

TEST(ReservedPortTest, OnlyListenersMayUseIt) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  EXPECT_GT(port.number, 1023);
  const SocketAddress address = address_of("127.0.0.1", port.number);
  EXPECT_THAT(connect_to(address, soon()), StatusIs(absl::StatusCode::kUnavailable));
  const Socket other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_NE(::bind(other.get(), address.get(), address.length()), 0);
  EXPECT_EQ(errno, EADDRINUSE);
  ASSERT_OK_AND_ASSIGN(const ReservedPort second, reserve_port());
  EXPECT_NE(second.number, port.number);
  EXPECT_OK(listen_on(address).status());
  ASSERT_EQ(::listen(port.socket.get(), 1), 0);
  EXPECT_THAT(listen_on(address), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is taken")));
}

TEST(LimitWaitsTest, EndsABlockingCall) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const Socket one(ends[0]), other(ends[1]);
  limit_waits(one.get(), absl::Milliseconds(20));
  char byte;
  EXPECT_EQ(::recv(one.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(IgnoreBrokenPipesTest, UnlessTheyAreHandled) {
  ::signal(SIGPIPE, SIG_DFL);
  ignore_broken_pipes();
  Pipe pipe;
  pipe.read = Socket();
  EXPECT_EQ(::write(pipe.write.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  auto handler = [](int) {};
  ::signal(SIGPIPE, handler);
  ignore_broken_pipes();
  EXPECT_EQ(::signal(SIGPIPE, SIG_IGN), static_cast<void (*)(int)>(handler));
}

}  // namespace
}  // namespace millrace
