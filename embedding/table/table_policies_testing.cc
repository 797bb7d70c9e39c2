#include "embedding/table/table_policies_testing.h"

#include <google/protobuf/text_format.h>

#include <map>

#include "base/status_matchers.h"

namespace millrace::policy_testing {

absl::StatusOr<std::unique_ptr<EmbeddingTable>> create(const std::string& text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  config.set_name("items");
  config.set_dim(kDim);
  return EmbeddingTable::create(EmbeddingTableOptions::from_config(config, 7));
}

std::unique_ptr<EmbeddingTable> make(const std::string& text) {
  absl::StatusOr<std::unique_ptr<EmbeddingTable>> table = create(text);
  EXPECT_OK(table);
  EXPECT_OK((*table)->bind({{"m", 2, 0.5f}}));
  return *std::move(table);
}

std::vector<RowIndex> look_up(EmbeddingTable& table, const Ids& ids) {
  std::vector<RowIndex> rows(ids.size());
  EXPECT_OK(table.find_or_insert(ids, absl::MakeSpan(rows)));
  return rows;
}

// Runs a step with these ids, which may repeat, and adds 1 to all floats of their rows.
void step(EmbeddingTable& table, int64_t number, const Ids& ids) {
  std::map<RowIndex, uint32_t> seen;
  for (const RowIndex row : look_up(table, ids)) {
    if (row != kNoRow) ++seen[row];
  }
  std::vector<RowIndex> rows;
  std::vector<uint32_t> counts;
  for (const auto& [row, count] : seen) {
    rows.push_back(row);
    counts.push_back(count);
    for (int c = 0; c < kDim; ++c) table.content().mutable_row(row).weights()[c] += 1;
    for (int c = 0; c < 2; ++c) table.content().mutable_row(row).slots[c] += 1;
  }
  table.record_occurrences(number, rows, counts);
  table.commit(number);
}

Ids ids_of(const EmbeddingTable& table) { return table.content().export_rows().ids; }

bool has(const EmbeddingTable& table, int64_t id) {
  RowIndex row = 0;
  table.find({&id, 1}, {&row, 1});
  return row != kNoRow;
}

}  // namespace millrace::policy_testing
