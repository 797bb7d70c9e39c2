#include "plugin/plugin_check.h"

#include <gtest/gtest.h>

// tests/plugins/wrong_plugins_test.cc tests all that check_plugin() refuses.
namespace millrace {
namespace {

TEST(PluginCheckTest, NamesTheProtoFileOfASymbol) {
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_my_2fjob_2eproto"), "my/job.proto");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_a_5fb_2dc_2eproto"), "a_b-c.proto");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_proto_2fconfig_2eproto"), "proto/config.proto");
}

TEST(PluginCheckTest, OtherSymbolsNameNone) {
  EXPECT_EQ(proto_file_of_symbol("millrace_hook_plugin_v1"), "");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_"), "");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_a_"), "");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_a_2"), "");
  EXPECT_EQ(proto_file_of_symbol("descriptor_table_a_zz"), "");
}

}  // namespace
}  // namespace millrace
