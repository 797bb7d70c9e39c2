#include "tools/doctor/version_text.h"

#include <gmock/gmock.h>

#include "base/version.h"

namespace millrace {
namespace {

using ::testing::ContainsRegex;
using ::testing::StartsWith;

TEST(VersionTextTest, NamesWhatTheProgramConsistsOf) {
  const std::string text = version_text();
  EXPECT_THAT(text, StartsWith(std::string("millrace ") + kVersion + "\nbuild: "));
  EXPECT_THAT(text, ContainsRegex("\ninstruction set: (baseline|avx2|avx512)\n"));
  EXPECT_THAT(text, ContainsRegex("\nLibTorch: [0-9]+\\.[0-9]+"));
  EXPECT_THAT(text, ContainsRegex("\nArrow: [0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace millrace
