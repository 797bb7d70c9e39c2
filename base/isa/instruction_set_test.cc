#include "base/isa/instruction_set.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

// The flags of the first processor, as the kernel of the operating system names them.
std::vector<std::string> processor_flags() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

TEST(InstructionSetTest, AgreesWithTheOperatingSystem) {
  const std::vector<std::string> flags = processor_flags();
  if (flags.empty())
    GTEST_SKIP() << skip_kernel_feature("processor flags", "/proc/cpuinfo names none");
  auto has = [&](const char* flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  EXPECT_TRUE(has_instruction_set(InstructionSet::kBaseline));
  EXPECT_EQ(has_instruction_set(InstructionSet::kAvx2), has("avx2") && has("bmi2"));
  EXPECT_EQ(has_instruction_set(InstructionSet::kAvx512), has("avx2") && has("bmi2") &&
                                                              has("avx512f") && has("avx512vl") &&
                                                              has("avx512bw") && has("avx512dq"));
}

TEST(InstructionSetTest, TheBestIsTheLastThatIsThere) {
  EXPECT_TRUE(has_instruction_set(best_instruction_set()));
  for (const InstructionSet set : kInstructionSets) {
    EXPECT_EQ(has_instruction_set(set), set <= best_instruction_set()) << name_of(set);
  }
}

TEST(InstructionSetTest, Names) {
  EXPECT_STREQ(name_of(InstructionSet::kBaseline), "baseline");
  EXPECT_STREQ(name_of(InstructionSet::kAvx2), "avx2");
  EXPECT_STREQ(name_of(InstructionSet::kAvx512), "avx512");
}

}  // namespace
}  // namespace millrace
