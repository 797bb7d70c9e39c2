// Figures of embedding tables for reports, over all ranks.
#ifndef MILLRACE_FRAMEWORK_REPORT_TABLE_FIGURES_H_
#define MILLRACE_FRAMEWORK_REPORT_TABLE_FIGURES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "embedding/table/table_statistics.h"
#include "framework/ranks/rank_part.h"
#include "hook/events.h"

namespace millrace {

class EmbeddingCollection;

// A table with at least this share of lookups whose ids have no row is warned of.
inline constexpr double kManyUnknownIds = 0.5;

// Returns table → statistics now, of all tables of the collections.
std::map<std::string, TableStatistics> table_statistics(
    absl::Span<EmbeddingCollection* const> collections);

// Occurrences of the most frequent id of a table in each step since a report, on one rank. The
// largest count over ranks is the count of the most frequent id of the step. Memory is bounded:
// above kMost steps each count is the sum of 2, 4, ... steps, and the largest sum over ranks is a
// lower bound.
class HottestCounts {
 public:
  static constexpr int64_t kMost = 256;

  // Adds the count of a step. `step`: number of the step since the report, from 1. The first call
  // may have any number: earlier counts are 0 or those of take_larger(). Each further call has the
  // next number.
  void add(int64_t step, int64_t count);
  // Replaces each count by the larger one of both. REQUIRES: both are of equally many steps, or of
  // fewer whose later counts are 0.
  void take_larger(absl::Span<const int64_t> others);

  absl::Span<const int64_t> counts() const { return counts_; }
  int64_t sum() const;

 private:
  static int64_t steps_per_count(int64_t steps);

  std::vector<int64_t> counts_;
};

// Collects figures of tables between two moments. Several ranks each have a part of every table:
// numbers are summed, and the load covers all maps together. The most frequent id of a step is
// that of the rank with the largest HottestCounts of the step.
class TableFigures : public RankPart {
 public:
  // Adds a table. `last`: its statistics at the last report. `hottest`: counts of the steps since
  // the last report. Default: one count, the difference of the statistics, which is exact for a
  // table with one rank.
  void add(const std::string& name, const TableStatistics& now, const TableStatistics& last,
           HottestCounts hottest = HottestCounts());

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
    // Differences of the statistics that count since the table was created. `load` and `hottest`
    // are not used.
    TableStatistics statistics;
    double entries = 0;  // of maps
    HottestCounts hottest;
  };
  absl::Status load_rank(int rank, absl::string_view bytes);

  std::map<std::string, Figures> tables_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_TABLE_FIGURES_H_
