// Figures of embedding tables for reports, over all ranks.
#ifndef MILLRACE_FRAMEWORK_REPORT_TABLE_FIGURES_H_
#define MILLRACE_FRAMEWORK_REPORT_TABLE_FIGURES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "embedding/table/table_statistics.h"
#include "framework/events.h"
#include "framework/ranks/rank_part.h"

namespace millrace {

// Collects what happened to tables between two moments. Of several ranks, each with a part of every
// table: numbers add up; the load is that of all maps together; the most frequent id of a step is
// the most frequent one of the rank where that number is largest.
class TableFigures : public RankPart {
 public:
  // Adds a table. `last`: its statistics when the last report was made.
  void add(const std::string& name, const TableStatistics& now, const TableStatistics& last);

  std::string save() const override;
  absl::Status load_ranks(absl::Span<const absl::string_view> ranks) override;

  std::map<std::string, TableReport> reports() const;
  // Returns the number of ids that were looked up in all tables, duplicates included.
  int64_t lookups() const;

 private:
  struct Figures {
    // Differences, where TableStatistics counts since the table was made. `load` is not used.
    TableStatistics statistics;
    double entries = 0;  // of maps
  };
  absl::Status load_rank(int rank, absl::string_view bytes);

  std::map<std::string, Figures> tables_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_TABLE_FIGURES_H_
