#include "embedding/table/embedding_table_options.h"

#include <google/protobuf/text_format.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

EmbeddingTableOptions options_of(const char* text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return EmbeddingTableOptions::from_config(config, 7);
}

TEST(EmbeddingTableOptionsTest, TakesWhatTheConfigurationSays) {
  const EmbeddingTableOptions options = options_of(
      "name: 'items' dim: 5 row_dtype: BFLOAT16 admission { read_only {} } "
      "eviction { idle_steps: 9 } limit { max_rows: 3 } default_value { constant { value: 2 } }");
  EXPECT_EQ(options.name, "items");
  EXPECT_EQ(options.dim, 5);
  EXPECT_EQ(options.added_columns, 0);
  EXPECT_EQ(options.seed, 7);
  EXPECT_EQ(options.type, RowType::kBfloat16);
  EXPECT_TRUE(options.admission.has_read_only());
  ASSERT_TRUE(options.eviction.has_value());
  EXPECT_EQ(options.eviction->idle_steps(), 9);
  EXPECT_EQ(options.limit.max_rows(), 3);
  EXPECT_EQ(options.default_value.constant().value(), 2);
}

TEST(EmbeddingTableOptionsTest, RowsAreFloat32AndStayByDefault) {
  const EmbeddingTableOptions options = options_of("name: 'items'");
  EXPECT_EQ(options.type, RowType::kFloat32);
  EXPECT_FALSE(options.eviction.has_value());
  EXPECT_EQ(options_of("row_dtype: FLOAT16").type, RowType::kFloat16);
}

}  // namespace
}  // namespace millrace
