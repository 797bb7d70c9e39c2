// Tests places and permissions of plugins. No code of a file at a wrong place runs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "plugin/configured_plugins.h"
#include "plugin/plugin_file.h"
#include "tests/environment/skip.h"
#include "tests/plugins/plugin_folder.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr char kPlugin[] = "tests/plugins/marking_plugin.so";

class PluginPlacesTest : public testing::Test {
 protected:
  PluginPlacesTest() : mark_(marks_.file("mark")), path_(folder_.copy("marking.so", kPlugin)) {
    ::setenv("MILLRACE_PLUGIN_MARK", mark_.c_str(), /*overwrite=*/1);
    config_.mutable_run()->mutable_plugins()->add_directory(folder_.path());
    hook_ = config_.mutable_train()->add_hooks();
    hook_->mutable_plugin()->set_path(path_);
    hook_->mutable_plugin()->set_hook("marking");
  }
  ~PluginPlacesTest() override { ::unsetenv("MILLRACE_PLUGIN_MARK"); }

  // Expects an error of both functions, and no mark.
  void expect_refused(const std::string& error, absl::StatusCode code) {
    EXPECT_THAT(resolve_plugins(config_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
    if (!hook_->plugin().has_sha256()) hook_->mutable_plugin()->set_sha256(std::string(64, '0'));
    const absl::Status loaded =
        create_configured_plugin_hook(*hook_, config_.run().plugins(),
                                      {FileSystem::local(), Clock::real(), "", {}})
            .status();
    EXPECT_THAT(loaded, StatusIs(code, HasSubstr(error)));
    EXPECT_NE(::access(mark_.c_str(), F_OK), 0);
  }
  void expect_refused(const std::string& error) {
    expect_refused(error, absl::StatusCode::kInvalidArgument);
  }
  void name(const std::string& path) { hook_->mutable_plugin()->set_path(path); }

  PluginFolder folder_;
  PluginFolder marks_;  // the folder of plugins may lose its permissions
  const std::string mark_;
  const std::string path_;
  JobConfig config_;
  HookConfig* hook_ = nullptr;
};

TEST_F(PluginPlacesTest, TheRightPlaceIsAccepted) {
  EXPECT_OK(resolve_plugins(config_));
  EXPECT_EQ(hook_->name(), "marking");
  EXPECT_EQ(hook_->plugin().sha256().size(), 64);
  EXPECT_NE(::access(mark_.c_str(), F_OK), 0);  // the check runs no code
  EXPECT_OK(create_configured_plugin_hook(*hook_, config_.run().plugins(),
                                          {FileSystem::local(), Clock::real(), "", {}}));
  EXPECT_EQ(::access(mark_.c_str(), F_OK), 0);
}

TEST_F(PluginPlacesTest, WithoutDirectoriesNothingIsLoaded) {
  config_.mutable_run()->clear_plugins();
  expect_refused("run.plugins.directory is not set");
}

TEST_F(PluginPlacesTest, OtherDirectories) {
  const std::string inner = folder_.file("inner");
  ASSERT_EQ(::mkdir(inner.c_str(), 0755), 0);
  std::filesystem::copy(path_, inner + "/marking.so");
  name(inner + "/marking.so");
  expect_refused("lies directly in none of run.plugins.directory");
  config_.mutable_run()->mutable_plugins()->set_directory(0, inner);
  name(path_);
  hook_->mutable_plugin()->clear_sha256();
  expect_refused("lies directly in none of run.plugins.directory");
}

TEST_F(PluginPlacesTest, MissingFiles) {
  name(folder_.file("missing.so"));
  expect_refused("missing.so", absl::StatusCode::kNotFound);
}

// The first check leaves such paths to check_plugin_hook(), which reports an error; open() refuses
// all.
TEST_F(PluginPlacesTest, PathsThatAreNotPlain) {
  for (const std::string& path :
       {std::string("marking.so"), std::string("./marking.so"), std::string(""), std::string("/"),
        folder_.path() + "/../" + folder_.path().substr(5) + "/marking.so",
        folder_.path() + "/./marking.so", folder_.path() + "//marking.so", path_ + "/"}) {
    EXPECT_THAT(PluginFile::open(path), StatusIs(absl::StatusCode::kInvalidArgument)) << path;
    name(path);
    hook_->mutable_plugin()->set_sha256(std::string(64, '0'));
    EXPECT_THAT(create_configured_plugin_hook(*hook_, config_.run().plugins(),
                                              {FileSystem::local(), Clock::real(), "", {}}),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << path;
  }
  EXPECT_NE(::access(mark_.c_str(), F_OK), 0);
}

TEST_F(PluginPlacesTest, SymbolicLinkToTheFile) {
  const std::string link = folder_.file("link.so");
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  name(link);
  expect_refused("symbolic link");
}

TEST_F(PluginPlacesTest, SymbolicLinkToTheDirectory) {
  const std::string link = marks_.file("link");
  ASSERT_EQ(::symlink(folder_.path().c_str(), link.c_str()), 0);
  config_.mutable_run()->mutable_plugins()->set_directory(0, link);
  name(link + "/marking.so");
  expect_refused("symbolic link");
}

TEST_F(PluginPlacesTest, WhatIsNoFile) {
  const std::string pipe = folder_.file("pipe.so");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0644), 0);
  name(pipe);
  expect_refused("no regular file");  // refused without waiting for a writer
  const std::string directory = folder_.file("directory.so");
  ASSERT_EQ(::mkdir(directory.c_str(), 0755), 0);
  name(directory);
  expect_refused("no regular file");
}

TEST_F(PluginPlacesTest, WritableByOthers) {
  for (const mode_t mode : {0646, 0664, 0666, 0777}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    expect_refused("others than its owner can write to the file");
  }
}

TEST_F(PluginPlacesTest, InADirectoryThatOthersCanWriteTo) {
  for (const mode_t mode : {0775, 0757, 0777}) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), mode), 0);
    expect_refused("others than its owner can write to the directory");
  }
}

TEST_F(PluginPlacesTest, BelowADirectoryThatOthersCanWriteTo) {
  const std::string inner = folder_.file("inner");
  ASSERT_EQ(::mkdir(inner.c_str(), 0755), 0);
  std::filesystem::copy(path_, inner + "/marking.so");
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0775), 0);
  config_.mutable_run()->mutable_plugins()->set_directory(0, inner);
  name(inner + "/marking.so");
  expect_refused("others than its owner can write to the directory");
}

TEST_F(PluginPlacesTest, OfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << skip_kernel_feature("root", "files keep their owner");
  ASSERT_EQ(::chown(path_.c_str(), 4242, 4242), 0);
  expect_refused("the file belongs to user 4242");
  ASSERT_EQ(::chown(path_.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(folder_.path().c_str(), 4242, 4242), 0);
  expect_refused("the directory belongs to user 4242");
  // Sticky, but not owned by root.
  ASSERT_EQ(::chmod(folder_.path().c_str(), 01777), 0);
  expect_refused("the directory belongs to user 4242");
}

TEST_F(PluginPlacesTest, AnotherDigestThanTheConfigured) {
  const std::string right = PluginFile::open(path_)->digest();
  hook_->mutable_plugin()->set_sha256(std::string(64, 'a'));
  expect_refused("it is another file");
  hook_->mutable_plugin()->set_sha256(absl::AsciiStrToUpper(right));
  EXPECT_OK(resolve_plugins(config_));
  EXPECT_EQ(hook_->plugin().sha256(), right);
}

TEST_F(PluginPlacesTest, ADigestThatIsNotListed) {
  const std::string right = PluginFile::open(path_)->digest();
  config_.mutable_run()->mutable_plugins()->add_sha256(std::string(64, 'a'));
  hook_->mutable_plugin()->set_sha256(right);
  expect_refused("is none of run.plugins.sha256");
  config_.mutable_run()->mutable_plugins()->add_sha256(absl::AsciiStrToUpper(right));
  EXPECT_OK(resolve_plugins(config_));
}

TEST_F(PluginPlacesTest, AHookThatIsNotInIt) {
  hook_->mutable_plugin()->set_hook("markin");
  EXPECT_THAT(resolve_plugins(config_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"marking\"")));
  EXPECT_NE(::access(mark_.c_str(), F_OK), 0);
}

TEST_F(PluginPlacesTest, AHookThatWasNotResolved) {
  EXPECT_THAT(create_configured_plugin_hook(*hook_, config_.run().plugins(),
                                            {FileSystem::local(), Clock::real(), "", {}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("resolve_plugins")));
  EXPECT_NE(::access(mark_.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace millrace
