#include "framework/report/process_figures.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace millrace {
namespace {

TEST(ProcessFiguresTest, MemoryThatIsTouchedIsResident) {
  const ProcessFigures before = read_process_figures();
  EXPECT_GT(before.resident_bytes, 0);
  std::vector<char> memory(64 << 20, 1);
  const ProcessFigures after = read_process_figures();
  EXPECT_GE(after.resident_bytes - before.resident_bytes, 48 << 20) << memory.back();
  EXPECT_GT(after.major_faults + after.minor_faults, before.major_faults + before.minor_faults);
}

TEST(ProcessFiguresTest, WorkTakesCpuTime) {
  const ProcessFigures before = read_process_figures();
  volatile double sum = 0;
  while (read_process_figures().cpu - before.cpu < absl::Milliseconds(20)) {
    for (int i = 0; i < 100000; ++i) sum = sum + i;
  }
}

TEST(ProcessFiguresTest, BytesReadCountWhatIsRead) {
  const ProcessFigures before = read_process_figures();
  if (before.bytes_read == 0) GTEST_SKIP() << "the kernel has no /proc/self/io";
  std::vector<char> bytes(1 << 20);
  std::ifstream("/dev/zero").read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_GE(read_process_figures().bytes_read - before.bytes_read, 1 << 20);
}

}  // namespace
}  // namespace millrace
