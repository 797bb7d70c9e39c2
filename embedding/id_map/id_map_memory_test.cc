// An id map without memory. A separate binary, since it replaces operator new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "embedding/id_map/id_map.h"
#include "embedding/id_map/id_map_testing.h"

namespace {

constexpr int kNever = -1;
int allocations_that_succeed = kNever;

// Returns true if `change` fails with only `succeed` successful allocations.
template <typename Change>
bool fails(int succeed, Change change) {
  bool failed = false;
  allocations_that_succeed = succeed;
  try {
    change();
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  allocations_that_succeed = kNever;
  return failed;
}

}  // namespace

void* operator new(size_t bytes) {
  if (allocations_that_succeed == 0) throw std::bad_alloc();
  if (allocations_that_succeed > 0) --allocations_that_succeed;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace millrace {
namespace {

// Inserts ids one by one; the first, second, ... allocation of each growth fails.
TEST(IdMapMemoryTest, AFailedGrowthLosesNothingAndMayBeTriedAgain) {
  constexpr int64_t kIds = 400'000;  // several splits and directories
  int failures = 0;
  int64_t bytes = 0;  // of the first map, without failures
  for (int succeed = kNever; succeed < 6; ++succeed) {
    IdMap map(/*seed=*/5);
    RowIndex rows[1], next = 0;
    const auto insert = [&](int64_t id) {
      map.find_or_insert({&id, 1}, rows, [&](int64_t) { return next++; });
    };
    for (int64_t id = 0; id < kIds; ++id) {
      if (!fails(succeed, [&] { insert(id); })) continue;
      ++failures;
      ASSERT_EQ(map.size(), id);
      ASSERT_TRUE(map.is_consistent());
      next = static_cast<RowIndex>(id);
      insert(id);
    }
    ASSERT_EQ(map.size(), kIds);
    ASSERT_TRUE(map.is_consistent());
    const std::vector<RowIndex> found = find_rows(map, id_range(0, kIds));
    for (int64_t id = 0; id < kIds; ++id) ASSERT_EQ(found[id], static_cast<RowIndex>(id));
    if (succeed == kNever) bytes = map.bytes();
    // Allows two pieces more, since the order of allocations differs.
    EXPECT_LE(map.bytes(), bytes + (2 << 20));
  }
  EXPECT_GT(failures, 20);
}

TEST(IdMapMemoryTest, FailedRoomOrClearingChangesNothing) {
  int failures = 0;
  for (int succeed = 0; succeed < 20; ++succeed) {
    IdMap map(/*seed=*/6);
    RowCounter counter;
    failures += fails(succeed, [&] { map.reserve(200'000); });
    ASSERT_TRUE(map.is_consistent());
    const std::vector<RowIndex> rows = insert_rows(map, counter, id_range(0, 100'000));
    const bool failed = fails(succeed, [&] { map.clear(); });
    failures += failed;
    ASSERT_TRUE(map.is_consistent());
    ASSERT_EQ(map.size(), failed ? 100'000 : 0);
    if (failed) {
      ASSERT_EQ(find_rows(map, id_range(0, 100'000)), rows);
    }
  }
  EXPECT_GT(failures, 15);
}

}  // namespace
}  // namespace millrace
