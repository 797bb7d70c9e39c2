#include "bench/check_files_testing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "base/file_system.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

// Reads a file of numbers of the benchmark.
template <typename T>
std::vector<T> numbers(const std::string& path) {
  const absl::StatusOr<std::string> bytes = read_file(FileSystem::local(), path);
  EXPECT_OK(bytes.status());
  std::vector<T> result(bytes.ok() ? bytes->size() / sizeof(T) : 0);
  if (!result.empty()) std::memcpy(result.data(), bytes->data(), result.size() * sizeof(T));
  return result;
}

void check_steps(const std::vector<float>& before, const std::string& directory, int steps) {
  const auto rows = numbers<int64_t>(directory + "/rows.i64");
  const auto gradient = numbers<float>(directory + "/gradient.f32");
  const auto after = numbers<float>(directory + "/after.f32");
  ASSERT_EQ(rows.size(), 8 * 2 * 40 * 3);
  ASSERT_EQ(gradient.size(), 40 * 2 * 5);
  ASSERT_EQ(before.size(), 3000 * 2 * 5);
  ASSERT_EQ(after.size(), before.size());
  std::vector<double> expected(before.begin(), before.end());
  for (int step = 0; step < steps; ++step) {
    const int64_t* ids = rows.data() + step % 8 * 2 * 40 * 3;
    for (int i = 0; i < 2 * 40 * 3; ++i) {
      const int table = i / (40 * 3), example = i / 3 % 40;
      for (int c = 0; c < 5; ++c) {
        expected[(ids[i] * 2 + table) * 5 + c] -= 0.01 * gradient[(example * 2 + table) * 5 + c];
      }
    }
  }
  int changed = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    ASSERT_NEAR(after[i], expected[i], 1e-8) << i;
    changed += after[i] != before[i];
  }
  EXPECT_GT(changed, 1000);
}

}  // namespace

std::vector<float> expect_plain_loop(const std::string& directory, int steps) {
  std::vector<float> before = numbers<float>(directory + "/before.f32");
  check_steps(before, directory, steps);
  return before;
}

}  // namespace millrace
