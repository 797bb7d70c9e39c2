#include "embedding/served/served_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>

namespace millrace {
namespace {

using Rows = std::map<int64_t, int64_t>;  // the rows of a table of 8 bytes a row

void put(const Rows& rows, ServedTable::Parts* parts) {
  for (const auto& [id, value] : rows) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &value, 8);
    ServedTable::add({&id, 1}, bytes, 8, parts);
  }
}

void expect_content(const ServedTable& table, const Rows& rows, int64_t ids) {
  std::vector<int64_t> asked(ids);
  for (int64_t id = 0; id < ids; ++id) asked[id] = (id * 7) % ids;  // each once, in another order
  std::vector<const char*> records(ids);
  table.find(asked, absl::MakeSpan(records));
  for (int64_t i = 0; i < ids; ++i) {
    const auto row = rows.find(asked[i]);
    ASSERT_EQ(records[i] != nullptr, row != rows.end()) << asked[i];
    if (row == rows.end()) continue;
    int64_t value = 0;
    std::memcpy(&value, records[i], 8);
    ASSERT_EQ(value, row->second) << asked[i];
  }
}

// Deltas and merges in random order give what a map gives; earlier versions stay as they were.
TEST(ServedTableTest, EachVersionHasItsContent) {
  constexpr int64_t kIds = 2003;
  std::mt19937_64 random(1);
  Rows rows;
  for (int64_t id = 0; id < kIds; id += 2) rows[id] = id;
  ServedTable::Parts base;
  put(rows, &base);
  std::shared_ptr<const ServedTable> table = std::make_shared<ServedTable>(8, base);
  std::vector<std::pair<std::shared_ptr<const ServedTable>, Rows>> versions = {{table, rows}};
  for (int64_t version = 1; version <= 30; ++version) {
    Rows changed;
    ServedTable::Parts delta;
    for (int i = 0; i < 100; ++i) {
      const auto id = static_cast<int64_t>(random() % kIds);
      if (random() % 3 == 0) {
        rows.erase(id);
        ServedTable::add_removed({&id, 1}, 8, &delta);
      } else {
        rows[id] = version * 10000 + i;
        put({{id, rows[id]}}, &delta);
      }
    }
    table = table->with_delta(delta);
    versions.emplace_back(table, rows);
    for (int part = 0; part < ServedTable::kParts; ++part) {
      if (random() % 4 != 0) continue;
      const auto merged = table->merged(part);
      if (merged == nullptr) continue;
      table = merged;
      ASSERT_EQ(table->merged(part), nullptr) << "it has no overlay any more";
    }
    expect_content(*table, rows, kIds);
  }
  for (const auto& [old, content] : versions) expect_content(*old, content, kIds);
  for (int part = 0; part < ServedTable::kParts; ++part) {
    if (auto merged = table->merged(part)) table = merged;
  }
  EXPECT_EQ(table->overlay_rows(), 0);
  expect_content(*table, rows, kIds);
}

TEST(ServedTableTest, AnEmptyTableHasNoRow) {
  const ServedTable table(8, {});
  expect_content(table, {}, 10);
  EXPECT_EQ(table.merged(0), nullptr);
}

}  // namespace
}  // namespace millrace
