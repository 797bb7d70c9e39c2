#include "base/shared_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace millrace {
namespace {

TEST(SharedMutexTest, ReadersShareAndWritersDoNot) {
  SharedMutex mutex;
  int64_t number = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const WriterLock lock(mutex);
        ++number;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ReaderLock lock(mutex), another(mutex);  // no writer waits
  EXPECT_EQ(number, 4000);
}

// Continuous readers, at least one of which always holds the lock. The test ends only if a waiting
// writer precedes them.
TEST(SharedMutexTest, ReadersDoNotKeepAWriterWaiting) {
  SharedMutex mutex;
  std::atomic<bool> written = false;
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&] {
      while (!written) {
        const ReaderLock lock(mutex);
        for (int i = 0; i < 20000; ++i) asm volatile("");
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    const WriterLock lock(mutex);
    if (i == 99) written = true;
  }
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace millrace
