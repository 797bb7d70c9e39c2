#include "base/net/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace millrace {
namespace {

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

}  // namespace
}  // namespace millrace
