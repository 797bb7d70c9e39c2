#include "tools/launch/rank_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace millrace {
namespace {

TEST(LinePrefixerTest, LinesThatArriveInPieces) {
  LinePrefixer lines("[1] ");
  EXPECT_EQ(lines.add("one\ntw"), "[1] one\n");
  EXPECT_EQ(lines.add(""), "");
  EXPECT_EQ(lines.add("o"), "");
  EXPECT_EQ(lines.add("\n\nthree\n"), "[1] two\n[1] \n[1] three\n");
  EXPECT_EQ(lines.finish(), "");
}

TEST(LinePrefixerTest, TheEndOfTheStreamEndsALine) {
  LinePrefixer lines("> ");
  EXPECT_EQ(lines.add("no newline"), "");
  EXPECT_EQ(lines.finish(), "> no newline\n");
  EXPECT_EQ(lines.finish(), "");
}

// The output does not depend on the cuts between bytes.
TEST(LinePrefixerTest, AnyCutGivesTheSame) {
  using std::string_literals::operator""s;
  const std::string text = "a\n\nbc\r\n\tdef\0g\nlast"s;
  const std::string wanted = "#a\n#\n#bc\r\n#\tdef\0g\n#last\n"s;
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      LinePrefixer lines("#");
      std::string got = lines.add(text.substr(0, first));
      got += lines.add(text.substr(first, second - first));
      got += lines.add(text.substr(second));
      got += lines.finish();
      EXPECT_EQ(got, wanted) << first << ", " << second;
    }
  }
}

TEST(LinePrefixerTest, ALongLineStaysWhole) {
  LinePrefixer lines("[0] ");
  const std::string piece(65536, 'x');
  std::string got;
  for (int i = 0; i < 32; ++i) got += lines.add(piece);
  EXPECT_EQ(got, "");
  got = lines.add("\n");
  EXPECT_EQ(got.size(), 4 + 32 * piece.size() + 1);
  EXPECT_EQ(got.substr(0, 6), "[0] xx");
  EXPECT_EQ(lines.last_line(), std::string(4096, 'x'));
}

TEST(LinePrefixerTest, AnEndlessLineIsCut) {
  LinePrefixer lines("[0] ");
  const std::string piece(LinePrefixer::kMaxLineBytes - 1, 'x');
  EXPECT_EQ(lines.add(piece), "");
  std::string got = lines.add("yyy");
  EXPECT_EQ(got.size(), 4 + LinePrefixer::kMaxLineBytes + 1);
  EXPECT_EQ(got.substr(got.size() - 3), "xy\n");
  EXPECT_EQ(lines.finish(), "[0] yy\n");

  got = lines.add(std::string(2 * LinePrefixer::kMaxLineBytes + 5, 'z'));
  got += lines.finish();
  EXPECT_EQ(std::count(got.begin(), got.end(), '\n'), 3);
  EXPECT_EQ(std::count(got.begin(), got.end(), 'z'), 2 * LinePrefixer::kMaxLineBytes + 5);
}

TEST(LinePrefixerTest, LastLine) {
  LinePrefixer lines("> ");
  EXPECT_EQ(lines.last_line(), "");
  lines.add("one\ntwo\n \n\nth");
  EXPECT_EQ(lines.last_line(), "two");
  lines.finish();
  EXPECT_EQ(lines.last_line(), "th");
}

// A pipe with a controlled reader.
class OutputQueueTest : public testing::Test {
 protected:
  OutputQueueTest() {
    ::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~OutputQueueTest() override {
    close_reader();
    ::close(ends_[1]);
  }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }

  // Returns the text that has arrived.
  std::string read_all() {
    std::string text;
    char buffer[65536];
    for (;;) {
      const ssize_t count = ::read(ends_[0], buffer, sizeof buffer);
      if (count <= 0) return text;
      text.append(buffer, count);
    }
  }

  int ends_[2];
};

std::string numbered_lines(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += "line " + std::to_string(i) + "\n";
  return lines;
}

TEST_F(OutputQueueTest, WritesAtOnceWhatIsTaken) {
  OutputQueue queue(ends_[1]);
  EXPECT_TRUE(queue.empty());
  queue.add("one\n");
  queue.add("two\n");
  EXPECT_FALSE(queue.empty());
  queue.write_some();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(read_all(), "one\ntwo\n");
}

TEST_F(OutputQueueTest, AReaderThatStallsHoldsNobodyUp) {
  OutputQueue queue(ends_[1]);
  const std::string lines = numbered_lines(200'000);
  ASSERT_GT(lines.size(), OutputQueue::kFullBytes);
  queue.add(lines);
  queue.write_some();  // returns, though the pipe holds less
  EXPECT_FALSE(queue.empty());
  EXPECT_TRUE(queue.full());
  queue.write_some();
  std::string got;
  while (!queue.empty()) {
    got += read_all();
    queue.write_some();
  }
  got += read_all();
  EXPECT_TRUE(got == lines) << got.size() << " bytes of " << lines.size();
  EXPECT_FALSE(queue.full());
  EXPECT_EQ(::fcntl(ends_[1], F_GETFL) & O_NONBLOCK, 0) << "others write there too";
}

TEST_F(OutputQueueTest, WhatNobodyReadsIsDropped) {
  OutputQueue queue(ends_[1]);
  queue.add(numbered_lines(100'000));
  queue.write_some();
  ASSERT_FALSE(queue.empty());
  close_reader();
  queue.write_some();
  EXPECT_TRUE(queue.empty());
  queue.add("more\n");
  queue.write_some();
  EXPECT_TRUE(queue.empty());
}

TEST_F(OutputQueueTest, ADescriptorThatIsClosedTakesNothing) {
  const int fd = ::dup(ends_[1]);
  ::close(fd);
  OutputQueue queue(fd);
  queue.add("lost\n");
  queue.write_some();
  EXPECT_TRUE(queue.empty());
}

TEST_F(OutputQueueTest, SameDestination) {
  const int copy = ::dup(ends_[1]);
  int others[2];
  ASSERT_EQ(::pipe2(others, O_CLOEXEC), 0);
  EXPECT_TRUE(same_destination(ends_[1], ends_[1]));
  EXPECT_TRUE(same_destination(ends_[1], copy));
  EXPECT_FALSE(same_destination(ends_[1], others[1]));
  EXPECT_FALSE(same_destination(ends_[1], -1));
  for (int fd : {copy, others[0], others[1]}) ::close(fd);
}

}  // namespace
}  // namespace millrace
