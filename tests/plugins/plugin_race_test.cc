// Tests changes of a file during its load: only checked bytes run.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "plugin/configured_plugins.h"
#include "plugin/plugin_file.h"
#include "plugin/plugin_library.h"
#include "plugin/sha256.h"
#include "tests/plugins/elf_editor.h"
#include "tests/plugins/plugin_folder.h"

namespace millrace {
namespace {

constexpr int kLoads = 60;

class PluginRaceTest : public testing::Test {
 protected:
  PluginRaceTest()
      : good_(read_runfile("tests/plugins/quiet_plugin.so")),
        marking_(read_runfile("tests/plugins/marking_plugin.so")),
        path_(folder_.write("plugin.so", good_)),
        mark_(folder_.file("mark")) {
    ::setenv("MILLRACE_PLUGIN_MARK", mark_.c_str(), /*overwrite=*/1);
    ElfEditor(marking_).build_note().content.abi_version = 99;
  }
  ~PluginRaceTest() override { ::unsetenv("MILLRACE_PLUGIN_MARK"); }

  // Overwrites the existing file in place, at the same place on disk.
  void overwrite(const std::string& bytes) const {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(::ftruncate(file, bytes.size()), 0);
    ::close(file);
  }

  // Returns correct plugins of different bytes, so that each is loaded.
  std::string good(int n) const { return absl::StrCat(good_, "variant ", n); }

  bool marked() const { return ::access(mark_.c_str(), F_OK) == 0; }

  PluginFolder folder_;
  const std::string good_;
  std::string marking_;  // wrong by its version
  const std::string path_;
  const std::string mark_;
};

TEST_F(PluginRaceTest, AFileReplacedAfterItsCheckIsNotLoaded) {
  ASSERT_OK_AND_ASSIGN(PluginFile file, PluginFile::open(path_));
  const std::string digest = file.digest();
  ASSERT_OK_AND_ASSIGN(CheckedPlugin checked, check_plugin_file(std::move(file)));
  const std::string other = folder_.write("other.so", marking_);
  ASSERT_EQ(std::rename(other.c_str(), path_.c_str()), 0);
  ASSERT_OK(PluginLibrary::load(std::move(checked)));
  EXPECT_NE(PluginLibrary::find(digest), nullptr);
  EXPECT_FALSE(marked());
}

TEST_F(PluginRaceTest, AFileOverwrittenAfterItsCheckIsNotLoaded) {
  overwrite(good(0));
  ASSERT_OK_AND_ASSIGN(PluginFile file, PluginFile::open(path_));
  ASSERT_OK_AND_ASSIGN(CheckedPlugin checked, check_plugin_file(std::move(file)));
  overwrite(marking_);
  EXPECT_EQ(checked.file.bytes(), good(0));
  ASSERT_OK(PluginLibrary::load(std::move(checked)));
  EXPECT_FALSE(marked());
}

TEST_F(PluginRaceTest, TheCopyCannotBeChanged) {
  ASSERT_OK_AND_ASSIGN(const PluginFile file, PluginFile::open(path_));
  EXPECT_LT(::pwrite(file.descriptor(), "x", 1, 0), 0);
  EXPECT_LT(::ftruncate(file.descriptor(), 10), 0);
  EXPECT_EQ(::fcntl(file.descriptor(), F_GET_SEALS) & (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK),
            F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK);
  // Executed programs do not inherit the descriptor.
  EXPECT_NE(::fcntl(file.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

// The way in which another process changes the file.
enum class Change { kRename, kRenameAndOverwrite };

class SwappedPluginTest : public PluginRaceTest, public testing::WithParamInterface<Change> {
 protected:
  // Replaces the file by the wrong plugin and then by a correct one.
  void swap(int i) const {
    if (GetParam() == Change::kRenameAndOverwrite) {
      overwrite(marking_);
      overwrite(good(i));
    }
    const std::string wrong = folder_.write("next.so", marking_);
    EXPECT_EQ(std::rename(wrong.c_str(), path_.c_str()), 0);
    const std::string next = folder_.write("next.so", good(i));
    EXPECT_EQ(std::rename(next.c_str(), path_.c_str()), 0);
  }
};

// Replaces the file continuously while it is loaded repeatedly. Each load returns a correct plugin
// or an error. Renames need no list of digests, because each opened file is whole. A file that is
// overwritten in place may be a mixture of two files, which has the digest of neither.
TEST_P(SwappedPluginTest, NothingWrongRunsWhileTheFileIsSwapped) {
  std::set<std::string> right = {sha256(good_)};
  JobConfig config;
  PluginsConfig& plugins = *config.mutable_run()->mutable_plugins();
  plugins.add_directory(folder_.path());
  for (int i = 0; i < kLoads; ++i) {
    right.insert(sha256(good(i)));
    if (GetParam() == Change::kRenameAndOverwrite) plugins.add_sha256(sha256(good(i)));
  }
  std::atomic<bool> done = false;
  std::atomic<int> swaps = 0;
  std::thread swapper([&] {
    for (int i = 0; !done; i = (i + 1) % kLoads, ++swaps) swap(i);
  });
  std::set<std::string> loaded;
  int errors = 0;
  // Continues until both outcomes occurred, and at least this number of times.
  for (int i = 0; i < 5 * kLoads || ((loaded.empty() || errors == 0) && i < 200000); ++i) {
    HookConfig& hook = *config.mutable_train()->add_hooks();
    hook.mutable_plugin()->set_path(path_);
    hook.mutable_plugin()->set_hook("quiet");
    absl::Status status = resolve_plugins(config);
    if (status.ok()) {
      status.Update(
          create_configured_plugin_hook(hook, plugins, {FileSystem::local(), Clock::real(), "", {}})
              .status());
    }
    if (status.ok()) {
      loaded.insert(hook.plugin().sha256());
    } else {
      ++errors;
    }
    config.mutable_train()->clear_hooks();
  }
  done = true;
  swapper.join();
  EXPECT_FALSE(marked());
  EXPECT_GT(errors, 0);
  EXPECT_GT(loaded.size(), 0);
  EXPECT_GT(swaps, 0);
  for (const std::string& digest : loaded) EXPECT_EQ(right.count(digest), 1);
}

INSTANTIATE_TEST_SUITE_P(All, SwappedPluginTest,
                         testing::Values(Change::kRename, Change::kRenameAndOverwrite),
                         [](const auto& change) {
                           return change.param == Change::kRename ? "ByNameWithoutDigests"
                                                                  : "InPlaceWithDigests";
                         });

}  // namespace
}  // namespace millrace
