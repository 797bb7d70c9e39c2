#include "plugin/plugin_messages.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"

// tests/plugins/clashing_plugin_test.cc reads such files from a plugin.
namespace millrace {
namespace {

using ::testing::HasSubstr;

// Returns the error for files of a plugin, given as texts of FileDescriptorProto.
std::string error_of(const std::vector<std::string>& texts) {
  std::vector<google::protobuf::FileDescriptorProto> files(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(texts[i], &files[i])) << texts[i];
  }
  const absl::Status status = check_proto_files(files);
  if (!status.ok()) EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(PluginMessagesTest, FilesWithNamesOfTheirOwnAreRight) {
  EXPECT_EQ(error_of({R"(name: "my/a.proto" package: "my.job" message_type { name: "Message" })",
                      R"(name: "my/b.proto" package: "my.job" message_type { name: "Other" })",
                      R"(name: "my/c.proto" package: "google.protobuf"
                         message_type { name: "Unheard" enum_type { name: "Label" } })"}),
            "");
}

TEST(PluginMessagesTest, APathMustBeNew) {
  EXPECT_THAT(error_of({R"(name: "google/protobuf/descriptor.proto")"}),
              HasSubstr("messages of google/protobuf/descriptor.proto, which the program"));
}

TEST(PluginMessagesTest, AFullNameMustBeNew) {
  EXPECT_THAT(error_of({R"(name: "my/a.proto" package: "google.protobuf"
                           message_type { name: "FileOptions" })"}),
              HasSubstr("its my/a.proto has the name google.protobuf.FileOptions, but the program "
                        "or a plugin already has one of google/protobuf/descriptor.proto"));
  EXPECT_THAT(error_of({R"(name: "my/a.proto" package: "google.protobuf"
                           enum_type { name: "FileOptions" })"}),
              HasSubstr("already has one of google/protobuf/descriptor.proto"));
  EXPECT_THAT(error_of({R"(name: "my/a.proto" package: "google.protobuf"
                           service { name: "FileOptions" })"}),
              HasSubstr("already has one of google/protobuf/descriptor.proto"));
}

TEST(PluginMessagesTest, TwoFilesOfAPluginMustDiffer) {
  EXPECT_THAT(error_of({R"(name: "my/a.proto" package: "my" message_type { name: "Message" })",
                        R"(name: "my/b.proto" package: "my" message_type { name: "Message" })"}),
              HasSubstr("its my/b.proto has the name my.Message, but the program or a plugin "
                        "already has one of my/a.proto"));
}

// The values of an enum are names in the scope of the enum.
TEST(PluginMessagesTest, ValuesOfEnumsAreNames) {
  EXPECT_THAT(error_of({R"(name: "my/a.proto" package: "my"
                           enum_type { name: "A" value { name: "NONE" number: 0 } }
                           enum_type { name: "B" value { name: "NONE" number: 0 } })"}),
              HasSubstr("the name my.NONE"));
}

TEST(PluginMessagesTest, AMessageIsNoPackage) {
  EXPECT_THAT(error_of({R"(name: "my/a.proto" package: "google.protobuf.FileOptions.my")"}),
              HasSubstr("a message or enum of that name"));
}

TEST(PluginMessagesTest, TheNumberOfAnExtensionMustBeNew) {
  const std::string extension = R"(name: "my/a.proto" package: "my" extension {
      name: "one" number: 50001 extendee: ".google.protobuf.FileOptions" })";
  EXPECT_EQ(error_of({extension}), "");
  EXPECT_THAT(error_of({extension, R"(name: "my/b.proto" package: "my" extension {
                          name: "two" number: 50001 extendee: ".google.protobuf.FileOptions" })"}),
              HasSubstr("extends google.protobuf.FileOptions by the number 50001"));
}

TEST(PluginMessagesTest, NamesTheProtoFileOfASymbol) {
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_my_2fjob_2eproto"), "my/job.proto");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_a_5fb_2dc_2eproto"), "a_b-c.proto");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_proto_2fconfig_2eproto"), "proto/config.proto");
}

TEST(PluginMessagesTest, OtherSymbolsNameNone) {
  EXPECT_EQ(proto_file_of_symbol("millrace_hook_plugin_v1"), "");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_"), "");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_a_"), "");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_a_2"), "");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_a_zz"), "");
}

}  // namespace
}  // namespace millrace
