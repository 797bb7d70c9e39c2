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

// Collects figures of tables between two moments. Several ranks each have a part of every table:
// numbers are summed, and the load covers all maps together. The most frequent id of a step is
// taken from the rank where its number is largest.
class TableFigures : public RankPart {
 public:
  // Adds a table. `last`: its statistics at the last report.
  void add(const std::string& name, const TableStatistics& now, const TableStatistics& last);

  std::string save() const override;
  absl::Status load_ranks(absl::Span<const absl::string_view> ranks) override;

  std::map<std::string, TableReport> reports() const;
  // Returns table → share of the lookups outside training whose ids have no row, in [0, 1]. Omits
  // tables without such lookups, and tables without rows.
  std::map<std::string, double> unknown_shares() const;
  // Returns the number of ids looked up in all tables, duplicates included.
  int64_t lookups() const;

 private:
  struct Figures {
    // Differences of the statistics that count since the table was created. `load` is not used.
    TableStatistics statistics;
    double entries = 0;  // of maps
  };
  absl::Status load_rank(int rank, absl::string_view bytes);

  std::map<std::string, Figures> tables_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_TABLE_FIGURES_H_
