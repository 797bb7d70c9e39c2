#include "io/window/manifest_window_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ManifestWindowSourceTest : public testing::Test {
 protected:
  ManifestWindowSourceTest() { config_.set_path("in"); }
  // Returns the paths of the next window, or what there is instead.
  std::vector<std::string> next(bool no_more = false) {
    ManifestWindowSource source(files_, config_);
    const auto found = source.find(no_more, position_);
    if (!found.ok()) return {std::string(found.status().message())};
    if (*found != Found::kWindow) return {*found == Found::kEnded ? "ended" : source.waits_for()};
    std::vector<std::string> paths = {position_.name()};
    for (const auto& file : position_.file()) paths.push_back(source.path_of(file.name()));
    return paths;
  }

  MemoryFileSystem files_;
  ManifestWindows config_;
  WindowPosition position_;
};

TEST_F(ManifestWindowSourceTest, InTheOrderOfTheNumbers) {
  files_.put("in/10.manifest", "data/c.parquet\n");
  files_.put("in/9.manifest", "data/a.parquet\r\n\n  s3://b/b.parquet\n");
  files_.put("in/11.manifest.tmp", "data/d.parquet");
  files_.put("in/x.manifest", "data/d.parquet");
  files_.put("in/-1.manifest", "data/d.parquet");
  EXPECT_THAT(next(), ElementsAre("9", "data/a.parquet", "s3://b/b.parquet"));
  EXPECT_THAT(next(), ElementsAre("10", "data/c.parquet"));
  EXPECT_THAT(next(), ElementsAre("a manifest in in"));
  files_.put("in/0012.manifest", "");
  EXPECT_THAT(next(), ElementsAre("0012"));
  EXPECT_THAT(next(/*no_more=*/true), ElementsAre("ended"));
  files_.put("in/13-10.manifest", "b");
  files_.put("in/13-9.manifest", "a");
  files_.put("in/_END", "");
  EXPECT_THAT(next(), ElementsAre("13-9", "a"));
  EXPECT_THAT(next(), ElementsAre("13-10", "b"));
  EXPECT_THAT(next(), ElementsAre("ended"));
}

TEST_F(ManifestWindowSourceTest, NamedErrors) {
  EXPECT_THAT(next(), ElementsAre(HasSubstr("windows.manifest.path")));
  files_.put("in/1.manifest", "a");
  files_.put("in/01.manifest", "b");
  EXPECT_THAT(next(), ElementsAre("in: 01.manifest and 1.manifest have one number"));
  position_.set_last_name("part-7");
  EXPECT_THAT(next(), ElementsAre("the position is not of windows of manifests"));
}

}  // namespace
}  // namespace millrace
