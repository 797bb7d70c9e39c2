#include "tools/checkpoint/table_report.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "checkpoint/inspect/table_scan.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

// Returns the number of a row in a column of int64.
int64_t number_at(const RowBlock& block, size_t column, int64_t row) {
  int64_t number = 0;
  std::memcpy(&number, block.row(column, row, sizeof(number)).data(), sizeof(number));
  return number;
}

// Returns the age of the table: 0, 1, 10, 100, …
int64_t age_bound(int64_t age) {
  int64_t bound = age == 0 ? 0 : 1;
  while (bound < age) bound *= 10;
  return bound;
}

// Keeps the ids of the highest frequencies.
class HottestIds {
 public:
  explicit HottestIds(int64_t count) : count_(count) {}

  void add(int64_t id, int64_t frequency) {
    kept_.push({frequency, ~id});
    if (static_cast<int64_t>(kept_.size()) > count_) kept_.pop();
  }

  std::vector<TableUse::HotId> take() {
    std::vector<TableUse::HotId> ids(kept_.size());
    for (size_t i = ids.size(); i > 0; --i, kept_.pop()) {
      ids[i - 1] = {~kept_.top().second, kept_.top().first};
    }
    return ids;
  }

 private:
  using Key = std::pair<int64_t, int64_t>;  // frequency and ~id
  const int64_t count_;
  std::priority_queue<Key, std::vector<Key>, std::greater<Key>> kept_;  // the lowest on top
};

}  // namespace

absl::StatusOr<TableUse> read_table_use(const CheckpointContent& content, absl::string_view table,
                                        int64_t top) {
  TableUse use;
  use.table = std::string(table);
  use.step = content.manifest().progress().step();
  ASSIGN_OR_RETURN(const auto scan,
                   TableScan::open(content.chain(), table, {"frequency", "last_step"}));
  HottestIds hottest(top);
  std::map<int64_t, int64_t> ages;
  for (RowBlock block;;) {
    RETURN_IF_ERROR(scan->next(&block));
    if (block.rows() == 0) break;
    use.rows += block.rows();
    for (int64_t row = 0; row < block.rows(); ++row) {
      const int64_t frequency = number_at(block, 0, row);
      use.occurrences += frequency;
      hottest.add(block.ids[row], frequency);
      ++ages[age_bound(std::max<int64_t>(0, use.step - number_at(block, 1, row)))];
    }
  }
  use.hottest = hottest.take();
  for (const auto& [steps, rows] : ages) use.ages.push_back({steps, rows});
  return use;
}

std::string table_use_text(const TableUse& use) {
  std::string text = absl::StrCat("table ", use.table, ": ", use.rows, " rows at step ", use.step,
                                  ", ", use.occurrences, " occurrences\n");
  TextTable ids(
      {{"hottest ids"}, {"occurrences", TextTable::kRight}, {"share", TextTable::kRight}});
  for (const TableUse::HotId& hot : use.hottest) {
    const double share = use.occurrences == 0 ? 0 : 100.0 * hot.frequency / use.occurrences;
    ids.add({absl::StrCat(hot.id), absl::StrCat(hot.frequency), absl::StrFormat("%.2f %%", share)});
  }
  TextTable ages({{"last occurrence"}, {"rows", TextTable::kRight}, {"share", TextTable::kRight}});
  for (const TableUse::Age& age : use.ages) {
    const std::string name = age.steps == 0   ? "in this step"
                             : age.steps == 1 ? "1 step ago"
                                              : absl::StrCat("up to ", age.steps, " steps ago");
    ages.add(
        {name, absl::StrCat(age.rows), absl::StrFormat("%.2f %%", 100.0 * age.rows / use.rows)});
  }
  return absl::StrCat(text, ids.text(), ages.text());
}

std::string table_use_json(const TableUse& use) {
  using Json = nlohmann::ordered_json;
  Json hottest = Json::array(), ages = Json::array();
  for (const TableUse::HotId& hot : use.hottest) {
    hottest.push_back({{"id", hot.id}, {"frequency", hot.frequency}});
  }
  for (const TableUse::Age& age : use.ages) {
    ages.push_back({{"steps", age.steps}, {"rows", age.rows}});
  }
  const Json json = {{"table", use.table}, {"step", use.step},
                     {"rows", use.rows},   {"occurrences", use.occurrences},
                     {"hottest", hottest}, {"ages", ages}};
  return json.dump(1) + "\n";
}

}  // namespace millrace
