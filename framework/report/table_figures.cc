#include "framework/report/table_figures.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/byte_stream.h"
#include "base/status_macros.h"
#include "embedding/embedding_collection.h"

namespace millrace {
namespace {

// The counts of a table that are summed over ranks.
constexpr int64_t TableStatistics::*kCounts[] = {
    &TableStatistics::rows,      &TableStatistics::bytes,      &TableStatistics::candidates,
    &TableStatistics::inserted,  &TableStatistics::unadmitted, &TableStatistics::occurrences,
    &TableStatistics::unique_ids};

constexpr ReadCounts TableStatistics::*kReads[] = {&TableStatistics::frozen,
                                                   &TableStatistics::evaluated};

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

std::map<std::string, TableStatistics> table_statistics(
    absl::Span<EmbeddingCollection* const> collections) {
  std::map<std::string, TableStatistics> tables;
  for (const EmbeddingCollection* collection : collections) {
    for (const auto& table : collection->tables()) {
      tables[table->name()] = table->maintenance().statistics();
    }
  }
  return tables;
}

int64_t HottestCounts::steps_per_count(int64_t steps) {
  int64_t result = 1;
  while (steps > kMost * result) result *= 2;
  return result;
}

void HottestCounts::add(int64_t step, int64_t count) {
  const int64_t steps = steps_per_count(step);
  if (steps != steps_per_count(step - 1)) {
    for (size_t i = 0; i < counts_.size(); i += 2) {
      const int64_t second = i + 1 < counts_.size() ? counts_[i + 1] : 0;
      counts_[i / 2] = counts_[i] + second;
    }
    counts_.resize((counts_.size() + 1) / 2);
  }
  const auto place = static_cast<size_t>((step - 1) / steps);
  if (counts_.size() <= place) counts_.resize(place + 1);
  counts_[place] += count;
}

void HottestCounts::take_larger(absl::Span<const int64_t> others) {
  if (counts_.size() < others.size()) counts_.resize(others.size());
  for (size_t i = 0; i < others.size(); ++i) counts_[i] = std::max(counts_[i], others[i]);
}

int64_t HottestCounts::sum() const {
  return std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
}

void TableFigures::add(const std::string& name, const TableStatistics& now,
                       const TableStatistics& last, HottestCounts hottest) {
  Figures& figures = tables_[name];
  if (hottest.counts().empty()) hottest.add(1, now.hottest - last.hottest);
  figures.hottest = std::move(hottest);
  TableStatistics& statistics = figures.statistics;
  statistics = now;
  statistics.inserted -= last.inserted;
  statistics.unadmitted -= last.unadmitted;
  statistics.occurrences -= last.occurrences;
  statistics.unique_ids -= last.unique_ids;
  statistics.frozen = now.frozen.since(last.frozen);
  statistics.evaluated = now.evaluated.since(last.evaluated);
  for (int i = 0; i < kEvictionReasons; ++i) statistics.evicted[i] -= last.evicted[i];
  figures.entries = now.load > 0 ? static_cast<double>(now.rows) / now.load : 0;
}

std::string TableFigures::save() const {
  ByteWriter writer;
  for (const auto& [name, figures] : tables_) {
    writer.write_string(name);
    for (const auto count : kCounts) writer.write_int64(figures.statistics.*count);
    for (const int64_t rows : figures.statistics.evicted) writer.write_int64(rows);
    for (const auto reads : kReads) {
      writer.write_int64((figures.statistics.*reads).lookups);
      writer.write_int64((figures.statistics.*reads).without_row);
    }
    writer.write_double(figures.entries);
    writer.write_uint64(figures.hottest.counts().size());
    for (const int64_t count : figures.hottest.counts()) writer.write_int64(count);
  }
  return writer.take();
}

absl::Status TableFigures::load_ranks(absl::Span<const absl::string_view> ranks) {
  tables_.clear();
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    absl::Status status = load_rank(static_cast<int>(rank), ranks[rank]);
    if (status.ok()) continue;
    tables_.clear();
    return status;
  }
  return absl::OkStatus();
}

absl::Status TableFigures::load_rank(int rank, absl::string_view bytes) {
  ByteReader reader(bytes);
  while (reader.remaining() > 0) {
    Figures& sum = tables_[std::string(reader.read_string())];
    for (const auto count : kCounts) sum.statistics.*count += reader.read_int64();
    for (int64_t& rows : sum.statistics.evicted) rows += reader.read_int64();
    for (const auto reads : kReads) {
      (sum.statistics.*reads).lookups += reader.read_int64();
      (sum.statistics.*reads).without_row += reader.read_int64();
    }
    sum.entries += reader.read_double();
    const uint64_t counts = reader.read_uint64();
    std::vector<int64_t> hottest(counts <= HottestCounts::kMost ? counts : 0);
    for (int64_t& count : hottest) count = reader.read_int64();
    sum.hottest.take_larger(hottest);
    if (!reader.ok() || hottest.size() != counts) {
      return absl::DataLossError(
          absl::StrCat("the figures of tables of rank ", rank, " are malformed"));
    }
  }
  return absl::OkStatus();
}

std::map<std::string, TableReport> TableFigures::reports() const {
  std::map<std::string, TableReport> reports;
  for (const auto& [name, figures] : tables_) {
    const TableStatistics& statistics = figures.statistics;
    TableReport& report = reports[name];
    report.rows = statistics.rows;
    report.bytes = statistics.bytes;
    report.load = figures.entries > 0 ? static_cast<double>(statistics.rows) / figures.entries : 0;
    report.candidates = statistics.candidates;
    report.inserted = statistics.inserted;
    report.unadmitted = statistics.unadmitted;
    for (int i = 0; i < kEvictionReasons; ++i) {
      const std::string reason(eviction_reason_name(static_cast<EvictionReason>(i)));
      if (statistics.evicted[i] > 0) report.evicted[reason] = statistics.evicted[i];
    }
    report.unique_share = share(statistics.unique_ids, statistics.occurrences);
    report.hottest_share = share(figures.hottest.sum(), statistics.occurrences);
    report.unknown_share = share(statistics.unadmitted + statistics.frozen.without_row,
                                 statistics.occurrences + statistics.frozen.lookups);
  }
  return reports;
}

std::map<std::string, double> TableFigures::unknown_shares() const {
  std::map<std::string, double> shares;
  for (const auto& [name, figures] : tables_) {
    const TableStatistics& statistics = figures.statistics;
    const ReadCounts& reads = statistics.evaluated;
    if (reads.lookups == 0 || statistics.rows == 0) continue;
    shares[name] = share(reads.without_row, reads.lookups);
  }
  return shares;
}

int64_t TableFigures::lookups() const {
  int64_t sum = 0;
  for (const auto& [name, figures] : tables_) sum += figures.statistics.occurrences;
  return sum;
}

}  // namespace millrace
