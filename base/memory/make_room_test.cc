#include "base/memory/make_room.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

TEST(MakeRoomTest, OneMoreNeedsNoNewMemory) {
  std::vector<int> all;
  for (int i = 0; i < 100; ++i) {
    make_room_for_one(all);
    const int* const before = all.data();
    all.push_back(i);
    ASSERT_EQ(all.data(), before);
    ASSERT_EQ(all[i], i);
  }
}

TEST(MakeRoomTest, MostCallsFindRoom) {
  std::vector<int> all;
  int moves = 0;
  for (int i = 0; i < 100'000; ++i) {
    const int* const before = all.data();
    make_room_for_one(all);
    moves += all.data() != before;
    all.push_back(i);
  }
  EXPECT_LT(moves, 20);
}

}  // namespace
}  // namespace millrace
