#include "proto/documented_protos.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "proto/config.pb.h"
#include "proto/field_description.h"
#include "proto/model_configs.pb.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

template <typename Message>
std::string comment(const char* field) {
  return comment_of(*Message::descriptor()->FindFieldByName(field));
}

TEST(DocumentedProtosTest, CommentsAboveAndBesideAField) {
  EXPECT_EQ(comment<ReportConfig>("when"), "Default: every 100 steps and at the end.");
  EXPECT_EQ(comment<CadenceConfig>("every_seconds"), "of training time; 0: never");
  EXPECT_EQ(comment<CadenceConfig>("at_end"), "") << "it has none";
}

TEST(DocumentedProtosTest, CommentsOfManyLinesBecomeOne) {
  EXPECT_THAT(comment<DataConfig>("shuffle_rows"),
              AllOf(StartsWith("Consecutive units of work"), HasSubstr("order of files and units"),
                    Not(HasSubstr("\n"))));
}

TEST(DocumentedProtosTest, OtherFilesAndExtensionsHaveThemToo) {
  EXPECT_NE(comment_of(*DeepFmConfig::descriptor()->field(0)), "");
}

TEST(DocumentedProtosTest, MessagesMadeOtherwiseHaveNone) {
  EXPECT_EQ(comment<google::protobuf::FileDescriptorProto>("name"), "");
}

TEST(DocumentedProtosTest, FirstSentencesOfMessages) {
  EXPECT_EQ(first_sentence_of(*StandardizeTransform::descriptor()),
            "Maps x to (x - mean) / standard_deviation.");
  EXPECT_EQ(first_sentence_of(*ReadOnlyAdmission::descriptor()),
            "Adds no rows: only loaded rows exist.");
  EXPECT_EQ(first_sentence_of(*google::protobuf::FileDescriptorProto::descriptor()), "");
}

TEST(DocumentedProtosTest, NamesTypesDefaultsAndMessagesInside) {
  const std::string text = describe_fields(*ReportConfig::descriptor());
  EXPECT_THAT(text,
              AllOf(StartsWith("when  CadenceConfig                         Default:"),
                    HasSubstr("\n  every_steps  int64 = 0 [at least 0]       0: never\n"),
                    HasSubstr("\n  every_seconds  double = 0 "),
                    HasSubstr("\n  at_start  bool = false\n"), HasSubstr("\njsonl  bool = true "),
                    HasSubstr("\non_error  DEFAULT|FAIL|WARN|DISABLE = DEFAULT ")));
  EXPECT_THAT(describe_fields(*CsvConfig::descriptor()),
              AllOf(HasSubstr("delimiter  string = \",\""), HasSubstr("column  repeated string")));
}

TEST(DocumentedProtosTest, MessagesWithoutEndAreCutOff) {
  // A message that contains itself.
  const std::string text = describe_fields(*google::protobuf::DescriptorProto::descriptor());
  EXPECT_THAT(text, HasSubstr("\nnested_type  repeated DescriptorProto\n  name  string\n"));
}

}  // namespace
}  // namespace millrace
