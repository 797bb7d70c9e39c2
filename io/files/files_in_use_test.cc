#include "io/files/files_in_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FilesInUseTest, NamesEachFileAsLongAsItIsUsed) {
  FilesInUse all;
  EXPECT_THAT(all.files(), IsEmpty());
  {
    const FilesInUse::Use seven(all, 7);
    {
      const FilesInUse::Use three(all, 3), again(all, 7);
      EXPECT_THAT(all.files(), ElementsAre(3, 7));
    }
    EXPECT_THAT(all.files(), ElementsAre(7));
  }
  EXPECT_THAT(all.files(), IsEmpty());
}

}  // namespace
}  // namespace millrace
