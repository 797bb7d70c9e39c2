#include "checkpoint/state/row_filter_conformance.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/random/philox.h"

namespace millrace {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr const char* kTables[] = {"items", "users", "a.b/c-1", ""};

// Returns rows with typical numbers.
std::vector<RowToSave> test_rows() {
  std::vector<RowToSave> rows;
  for (int64_t i = 0; i < 400; ++i) {
    const auto random = [i](uint64_t key, uint64_t end) {
      return static_cast<int64_t>(philox64(key, static_cast<uint64_t>(i), 0) % end);
    };
    const int64_t step = 1 + random(1, 100'000);
    rows.push_back({.table = kTables[i / 2 % 4],
                    .id = i % 2 == 0 ? i : static_cast<int64_t>(philox64(2, i, 0)),
                    .frequency = random(3, i % 3 == 0 ? 100'000 : 10),
                    .last_step = step - random(4, static_cast<uint64_t>(step)),
                    .step = step});
  }
  return rows;
}

// Returns rows at the ends of all ranges, including last steps after the checkpoint.
std::vector<RowToSave> extreme_rows() {
  std::vector<RowToSave> rows;
  for (const char* table : kTables) {
    for (const int64_t id : {int64_t{0}, int64_t{-1}, kMin, kMax}) {
      for (const int64_t frequency : {int64_t{0}, int64_t{1}, kMax}) {
        for (const int64_t last_step : {int64_t{0}, int64_t{1}, kMax}) {
          for (const int64_t step : {int64_t{0}, int64_t{1}, kMax}) {
            rows.push_back({table, id, frequency, last_step, step});
          }
        }
      }
    }
  }
  return rows;
}

std::vector<bool> answers_of(const RowFilter& filter, const std::vector<RowToSave>& rows) {
  std::vector<bool> answers;
  for (const RowToSave& row : rows) answers.push_back(filter.saves(row));
  return answers;
}

std::string text_of(const RowToSave& row) {
  return absl::StrCat("table \"", row.table, "\", id ", row.id, ", frequency ", row.frequency,
                      ", last step ", row.last_step, ", step ", row.step);
}

void check_every_call(const RowFilterConformance& c) {
  const auto filter = c.make();
  const std::vector<RowToSave> rows = test_rows();
  const std::vector<bool> answers = answers_of(*filter, rows);
  EXPECT_EQ(answers_of(*filter, rows), answers) << "a second time";
  EXPECT_EQ(answers_of(*c.make(), rows), answers) << "a second instance";
  for (size_t i = rows.size(); i-- > 0;) {
    EXPECT_EQ(filter->saves(rows[i]), answers[i]) << "in another order: " << text_of(rows[i]);
  }
}

void check_threads(const RowFilterConformance& c) {
  const auto filter = c.make();
  const std::vector<RowToSave> rows = test_rows();
  std::vector<std::vector<bool>> answers(4);
  call_on_threads(answers, [&](auto& each) { each = answers_of(*filter, rows); });
  const std::vector<bool> expected = answers_of(*c.make(), rows);
  for (const std::vector<bool>& each : answers) EXPECT_EQ(each, expected);
}

// Places the name of the table in a larger text, which is destroyed after the call.
void check_names(const RowFilterConformance& c) {
  const auto filter = c.make();
  for (const RowToSave& row : test_rows()) {
    const bool answer = filter->saves(row);
    for (const char* rest : {"", "0", "/more"}) {
      const std::string text = absl::StrCat(row.table, rest);
      RowToSave same = row;
      same.table = absl::string_view(text).substr(0, row.table.size());
      EXPECT_EQ(filter->saves(same), answer) << text_of(row) << ", in front of \"" << rest << "\"";
    }
  }
}

void check_extremes(const RowFilterConformance& c) {
  const std::vector<RowToSave> rows = extreme_rows();
  const std::vector<bool> answers = answers_of(*c.make(), rows);
  EXPECT_EQ(answers_of(*c.make(), rows), answers);
}

}  // namespace

std::vector<Property> row_filter_properties(const RowFilterConformance& conformance) {
  const auto property = properties_of(conformance);
  return {
      property("IsTheSameAtEveryCall", check_every_call),
      property("IsTheSameOnSeveralThreads", check_threads),
      property("ReadsTheNameAlone", check_names),
      property("TakesExtremeValues", check_extremes),
  };
}

bool register_row_filter_conformance(const std::string& suite,
                                     const RowFilterConformance& conformance,
                                     std::source_location place) {
  return register_properties(suite, row_filter_properties(conformance), place);
}

}  // namespace millrace
