// EmbeddingTable compared with a simple reference, over random steps.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/status_matchers.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/table_policies_testing.h"

namespace millrace {
namespace {

using policy_testing::Ids;
using policy_testing::kDim;
using policy_testing::look_up;
using policy_testing::make;
using policy_testing::step;

// A simple implementation of a table's rules.
class Reference {
 public:
  struct Row {
    float added = 0;
    int64_t frequency = 0;
    int64_t last_step = 0;
  };
  explicit Reference(const TableConfig& config) : config_(config) {}

  bool admits(int64_t id) const {
    const bool full = config_.limit().on_full() == LimitConfig::REJECT &&
                      static_cast<int64_t>(rows.size()) >= config_.limit().max_rows();
    if (full || config_.admission().has_read_only()) return false;
    if (!config_.admission().has_count()) return true;
    const auto found = counts.find(id);
    return (found == counts.end() ? 0 : found->second) + 1 >=
           config_.admission().count().min_count();
  }
  void step(int64_t number, const Ids& ids) {
    std::set<int64_t> admitted;
    for (const int64_t id : ids) {
      if (rows.count(id) > 0 || admits(id)) admitted.insert(id);
    }
    for (const int64_t id : ids) {
      if (admitted.count(id) == 0) {
        if (config_.admission().has_count()) ++counts[id];
        continue;
      }
      Row& row = rows[id];
      ++row.frequency;
      row.last_step = number;
    }
    for (const int64_t id : admitted) {
      rows[id].added += 1;
      counts.erase(id);
    }
    keep_limit(number);
  }
  void keep_limit(int64_t number) {
    const LimitConfig& limit = config_.limit();
    const bool lru = limit.on_full() == LimitConfig::EVICT_LRU;
    if ((!lru && limit.on_full() != LimitConfig::EVICT_LFU) ||
        static_cast<int64_t>(rows.size()) <= limit.max_rows()) {
      return;
    }
    const auto target =
        static_cast<size_t>(static_cast<double>(limit.max_rows()) * limit.evict_to());
    while (rows.size() > target) {
      const auto worth = [&](const auto& entry) {
        const Row& row = entry.second;
        return std::tuple(lru ? row.last_step : row.frequency, lru ? row.frequency : row.last_step,
                          placement_hash(entry.first));
      };
      drop(std::min_element(rows.begin(), rows.end(),
                            [&](const auto& a, const auto& b) { return worth(a) < worth(b); })
               ->first,
           number);
    }
  }
  void evict(int64_t number) {
    const std::map<int64_t, Row> before = rows;
    for (const auto& [id, row] : before) {
      const EvictionConfig& rules = config_.eviction();
      const int64_t idle = number - row.last_step;
      const bool goes = (rules.has_idle_steps() && idle > rules.idle_steps()) ||
                        (rules.has_frequency_below() && row.frequency < rules.frequency_below());
      if (goes) drop(id, number);
    }
  }
  void drop(int64_t id, int64_t number) {
    rows.erase(id);
    evicted.emplace_back(number, id);
  }
  std::set<int64_t> evicted_since(int64_t number) const {
    std::set<int64_t> ids;
    for (const auto& [at, id] : evicted) {
      if (at >= number && rows.count(id) == 0) ids.insert(id);
    }
    return ids;
  }

  std::map<int64_t, Row> rows;
  std::map<int64_t, int64_t> counts;
  std::vector<std::pair<int64_t, int64_t>> evicted;

 private:
  const TableConfig config_;
};

class TableReferenceTest : public testing::TestWithParam<const char*> {};

TEST_P(TableReferenceTest, EqualsTheReference) {
  TableConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam(), &config));
  const std::unique_ptr<EmbeddingTable> table = make(GetParam());
  Reference reference(config);
  std::mt19937 random(11);
  const auto some_ids = [&] {
    Ids ids(random() % 60);
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % 40 * (random() % 40)) - 700;
    return ids;
  };
  for (int64_t number = 1; number <= 400; ++number) {
    if (random() % 4 == 0) {
      look_up(*table, some_ids());
      look_up(*table, some_ids());
      table->discard();
    }
    const Ids ids = some_ids();
    step(*table, number, ids);
    reference.step(number, ids);
    if (random() % 5 == 0) {
      ASSERT_OK(table->maintenance().evict({.step = number}));
      reference.evict(number);
    }
    const TableRows rows = table->content().export_rows();
    ASSERT_EQ(rows.ids.size(), reference.rows.size());
    std::vector<float> initial(kDim);
    for (size_t i = 0; i < rows.ids.size(); ++i) {
      ASSERT_EQ(reference.rows.count(rows.ids[i]), 1u);
      const Reference::Row& row = reference.rows[rows.ids[i]];
      ASSERT_EQ(rows.frequency[i], row.frequency);
      ASSERT_EQ(rows.last_step[i], row.last_step);
      table->initial_row(rows.ids[i], absl::MakeSpan(initial));
      ASSERT_NEAR(rows.weights[i * kDim], initial[0] + row.added, 1e-4 * (1 + row.added));
      ASSERT_EQ(rows.slots[0].values[i * 2], 0.5f + row.added);
    }
    ASSERT_EQ(table->maintenance().statistics().candidates,
              static_cast<int64_t>(reference.counts.size()));
    ASSERT_EQ(table->maintenance().statistics().evicted_rows(),
              static_cast<int64_t>(reference.evicted.size()));
    const int64_t since = static_cast<int64_t>(random() % number);
    ASSERT_OK_AND_ASSIGN(const Ids evicted, table->content().evicted_since(since));
    ASSERT_EQ(std::set<int64_t>(evicted.begin(), evicted.end()), reference.evicted_since(since));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, TableReferenceTest,
    testing::Values("", "eviction { idle_steps: 20 }",
                    "eviction { idle_steps: 50 frequency_below: 3 }",
                    "admission { count { min_count: 3 } }",
                    "admission { count { min_count: 4 } } eviction { idle_steps: 15 }",
                    "admission { read_only {} }", "limit { max_rows: 100 on_full: EVICT_LRU }",
                    "limit { max_rows: 100 on_full: EVICT_LFU evict_to: 0.5 }",
                    "limit { max_rows: 60 on_full: REJECT } eviction { idle_steps: 30 }",
                    "limit { max_rows: 80 on_full: EVICT_LRU evict_to: 1 } "
                    "admission { count { min_count: 2 } } eviction { frequency_below: 2 }"));

}  // namespace
}  // namespace millrace
