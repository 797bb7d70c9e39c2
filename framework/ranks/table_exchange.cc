#include "framework/ranks/table_exchange.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "embedding/shard/shard_totals.h"
#include "framework/ranks/rank_figures.h"

namespace millrace {
namespace {

constexpr uint32_t kMagic = 0x6c624154;  // "TAbl"

// Header of a frame, in its memory layout: all ranks have the same version and byte order.
struct FrameHeader {
  uint32_t magic = kMagic;
  uint8_t kind = 0;
  uint8_t evaluates = 0;
  uint8_t failed = 0;
  uint8_t unused = 0;
};

// Sets `frame` to a header without parts.
void begin_frame(const FrameHeader& header, ByteBuffer& frame) {
  frame.clear();
  frame.append({reinterpret_cast<const char*>(&header), sizeof(header)});
}

const char* name_of(uint8_t kind) {
  static constexpr const char* kNames[] = {"nothing", "ids", "rows", "sums"};
  return kind < 4 ? kNames[kind] : "an unknown kind";
}

}  // namespace

TableExchange::TableExchange(Agreement& agreement, Model& model,
                             std::vector<EmbeddingCollection*> collections)
    : agreement_(agreement),
      model_(model),
      collections_(std::move(collections)),
      active_(agreement.collectives().world_size() > 1 && !collections_.empty()) {
  if (!active_) return;
  for (const EmbeddingCollection* collection : collections_) {
    rows_.resize(rows_.size() + collection->tables().size());
  }
  new_rows_.resize(rows_.size());
  sent_.resize(world_size());
  for (const Kind kind : {Kind::kIds, Kind::kRows, Kind::kSums})
    received(kind).resize(world_size());
}

std::vector<ByteBuffer>& TableExchange::received(Kind kind) {
  switch (kind) {
    case Kind::kIds: return ids_;
    case Kind::kRows: return rows_received_;
    default: return sums_;
  }
}

void TableExchange::begin(Phase phase, int64_t step) {
  phase_ = phase;
  step_ = step;
  if (active_) next_ = Kind::kIds;
}

void TableExchange::repeat() {
  if (!active_) return;
  next_ = Kind::kSums;
  for (EmbeddingCollection* collection : collections_) collection->exchange().repeat();
}

void TableExchange::discard() {
  for (EmbeddingCollection* collection : collections_) collection->discard();
}

absl::Status TableExchange::fetch(absl::Span<const Batch> micro_batches) {
  if (!active_) return announce(micro_batches);
  // All of an evaluation belongs to one phase.
  if (phase_ == Phase::kTrain) agreement_.collectives().set_phase(RankPhase::kLookup, step_);
  absl::Status own =
      catch_part_exceptions("the lookups of the model", [&] { return request(micro_batches); });
  if (own.ok()) {
    own = write_frames(Kind::kIds, [](CollectionExchange& tables, int rank, ByteBuffer& frame) {
      tables.write_ids(rank, frame);
      return absl::OkStatus();
    });
  }
  RETURN_IF_ERROR(exchange(Kind::kIds, own));

  // Rows read from the tables go directly into the answers.
  own = write_frames(Kind::kRows,
                     [](CollectionExchange&, int, ByteBuffer&) { return absl::OkStatus(); });
  if (own.ok()) {
    own = read_frames(Kind::kIds,
                      [this](CollectionExchange& tables, int rank, absl::string_view& ids) {
                        return tables.read_rows(rank, ids, sent_[rank]);
                      });
  }
  RETURN_IF_ERROR(exchange(Kind::kRows, own));
  return read_frames(Kind::kRows,
                     [](CollectionExchange& tables, int rank, absl::string_view& rows) {
                       return tables.receive_rows(rank, rows);
                     });
}

// Checks the lookups with one rank, so that an id that is not announced fails before a job has
// several ranks. Skips later steps, since the check hashes each id once more.
absl::Status TableExchange::announce(absl::Span<const Batch> micro_batches) {
  if (collections_.empty() || phase_ != Phase::kTrain || announced_) return absl::OkStatus();
  announced_ = true;
  return catch_part_exceptions("the lookups of the model", [&] { return request(micro_batches); });
}

absl::Status TableExchange::request(absl::Span<const Batch> micro_batches) {
  for (EmbeddingCollection* collection : collections_) {
    collection->exchange().begin(phase_ == Phase::kTrain);
  }
  for (const Batch& batch : micro_batches) {
    if (batch.size == 0) continue;
    ASSIGN_OR_RETURN(const std::vector<TableLookup> lookups, model_.lookups(batch));
    for (const TableLookup& lookup : lookups) {
      if (std::find(collections_.begin(), collections_.end(), lookup.collection) ==
          collections_.end()) {
        return absl::InvalidArgumentError(
            "Model::lookups gave a collection that is none of the model's submodules");
      }
      RETURN_IF_ERROR(lookup.collection->exchange().request(lookup.features));
    }
  }
  return absl::OkStatus();
}

absl::Status TableExchange::exchange_sums() {
  if (!active_) return absl::OkStatus();
  const absl::Status own =
      write_frames(Kind::kSums, [](CollectionExchange& tables, int rank, ByteBuffer& frame) {
        tables.write_sums(rank, frame);
        return absl::OkStatus();
      });
  RETURN_IF_ERROR(exchange(Kind::kSums, own));
  return read_frames(Kind::kSums,
                     [](CollectionExchange& tables, int rank, absl::string_view& sums) {
                       return tables.receive_sums(rank, sums);
                     });
}

std::vector<double> TableExchange::totals() {
  std::vector<double> totals;
  if (!active_) return totals;
  for (EmbeddingCollection* collection : collections_) {
    const ShardTotals own = collection->exchange().owned_totals(/*with_norm=*/true);
    totals.push_back(own.squared_norm);
    for (const int64_t ranks : own.not_finite) totals.push_back(static_cast<double>(ranks));
    for (const int64_t rows : own.new_rows) totals.push_back(static_cast<double>(rows));
  }
  return totals;
}

absl::Status TableExchange::check_own_rows() const {
  if (!active_) return absl::OkStatus();
  for (EmbeddingCollection* collection : collections_) {
    RETURN_IF_ERROR(collection->exchange().check_own_rows());
  }
  return absl::OkStatus();
}

std::vector<double> TableExchange::empty_totals() const {
  return std::vector<double>(active_ ? collections_.size() + 2 * tables() : 0);
}

std::string TableExchange::not_finite() {
  if (!active_) return "";
  for (EmbeddingCollection* collection : collections_) {
    const GradientSummary summary = collection->summarize(/*with_norm=*/false);
    if (!summary.finite) return summary.not_finite;
  }
  return "";
}

absl::Status TableExchange::set_totals(absl::Span<const double> sums) {
  const double* next = sums.data();
  int64_t first = 0;  // number of the collection's first table
  for (EmbeddingCollection* collection : collections_) {
    const size_t tables = collection->tables().size();
    ShardTotals totals;
    totals.squared_norm = *next++;
    for (size_t t = 0; t < tables; ++t) totals.not_finite.push_back(static_cast<int64_t>(*next++));
    for (size_t t = 0; t < tables; ++t) totals.new_rows.push_back(static_cast<int64_t>(*next++));
    std::copy(totals.new_rows.begin(), totals.new_rows.end(), new_rows_.begin() + first);
    first += static_cast<int64_t>(tables);
    collection->exchange().set_totals(totals);
    RETURN_IF_ERROR(collection->exchange().check_limits());
  }
  return absl::OkStatus();
}

int64_t TableExchange::tables() const { return static_cast<int64_t>(rows_.size()); }

std::vector<int64_t> TableExchange::rows() const {
  std::vector<int64_t> rows;
  if (!active_) return rows;
  for (const EmbeddingCollection* collection : collections_) {
    // A sharded table has no tentative rows.
    for (const auto& table : collection->tables()) rows.push_back(table->rows());
  }
  return rows;
}

void TableExchange::set_rows(absl::Span<const int64_t> rows) {
  rows_.assign(rows.begin(), rows.end());
  for (EmbeddingCollection* collection : collections_) {
    const size_t tables = collection->tables().size();
    collection->exchange().set_rows_of_all_ranks(rows.first(tables));
    rows.remove_prefix(tables);
  }
}

absl::Status TableExchange::enforce_limits(Place place) {
  if (!active_) return absl::OkStatus();
  std::vector<std::pair<TableMaintenance*, int64_t>> full;  // with the number of rows to remove
  size_t number = 0;
  for (EmbeddingCollection* collection : collections_) {
    for (size_t t = 0; t < collection->tables().size(); ++t, ++number) {
      if (collection->options().tables[t].frozen()) continue;
      TableMaintenance& table = collection->tables()[t]->maintenance();
      const int64_t count = table.rows_beyond_limit(rows_[number] + new_rows_[number]);
      if (count > 0) full.emplace_back(&table, count);
    }
  }
  if (full.empty()) return absl::OkStatus();
  // A rank may have failed since the decision about the step.
  RETURN_IF_ERROR(agreement_.meet(place));
  for (const auto& [table, count] : full) RETURN_IF_ERROR(evict(*table, count));
  return absl::OkStatus();
}

absl::Status TableExchange::evict(TableMaintenance& table, int64_t count) {
  RowSelection selection = table.select_least(count);
  while (!selection.done()) {
    RowSelection::Counts counts = {};
    table.count_rows(selection, counts);
    const absl::Status summed = agreement_.collectives().start_sum(absl::MakeSpan(counts))->wait();
    if (!summed.ok()) return agreement_.give_up(summed);
    selection.narrow(counts);
  }
  table.evict_selected(selection);
  return absl::OkStatus();
}

absl::Status TableExchange::fail(const absl::Status& failure) {
  if (!due() || agreement_.over()) return failure;
  return exchange(next_, failure);
}

absl::Status TableExchange::write_frames(Kind kind, WritePart write) {
  const FrameHeader header = {.kind = static_cast<uint8_t>(kind),
                              .evaluates = phase_ == Phase::kEvaluate};
  return catch_exceptions("writing a message of tables", [&] {
    for (int rank = 0; rank < world_size(); ++rank) {
      if (rank == this->rank()) continue;
      begin_frame(header, sent_[rank]);
      for (EmbeddingCollection* collection : collections_) {
        RETURN_IF_ERROR(write(collection->exchange(), rank, sent_[rank]));
      }
    }
    return absl::OkStatus();
  });
}

absl::Status TableExchange::exchange(Kind kind, const absl::Status& own) {
  if (!own.ok()) {
    const FrameHeader header = {
        .kind = static_cast<uint8_t>(kind), .evaluates = phase_ == Phase::kEvaluate, .failed = 1};
    for (ByteBuffer& frame : sent_) begin_frame(header, frame);
  }
  const bool last = kind == Kind::kSums || (kind == Kind::kRows && phase_ == Phase::kEvaluate);
  next_ = last ? Kind::kNone : static_cast<Kind>(static_cast<int>(kind) + 1);
  Collectives& collectives = agreement_.collectives();
  const TableTraffic before = collectives.table_traffic();
  const absl::Status exchanged =
      collectives.start_exchange(sent_, absl::MakeSpan(received(kind)))->wait();
  if (!exchanged.ok()) {
    next_ = Kind::kNone;
    return agreement_.give_up(exchanged);
  }
  if (phase_ == Phase::kTrain) count(kind, before, collectives.table_traffic());
  // Every rank reads all frames before it returns, so that all ranks reach the same conclusion.
  bool failed = !own.ok();
  absl::Status damage;
  for (int rank = 0; rank < world_size(); ++rank) {
    if (rank == this->rank()) continue;
    const absl::StatusOr<bool> other = check_header(kind, rank);
    if (!other.ok()) damage.Update(other.status());
    failed = failed || (other.ok() && *other);
  }
  if (!damage.ok()) {
    // The ranks are no longer at the same place, so no exchange can report the damage.
    next_ = Kind::kNone;
    collectives.fail(damage);
    return agreement_.give_up(damage);
  }
  if (!failed) return absl::OkStatus();
  next_ = Kind::kNone;
  return agreement_.gather_failures(own);
}

void TableExchange::count(Kind kind, const TableTraffic& before, const TableTraffic& after) {
  RankFigures& figures = agreement_.figures();
  int64_t& bytes = kind == Kind::kIds    ? figures.ids_bytes
                   : kind == Kind::kRows ? figures.rows_bytes
                                         : figures.sums_bytes;
  bytes += after.bytes_sent - before.bytes_sent;
  absl::Duration& awaiting = kind == Kind::kRows ? figures.owners : figures.other_ranks;
  awaiting += after.awaiting_ranks - before.awaiting_ranks;
  figures.transfer += after.transferring - before.transferring;
}

absl::StatusOr<bool> TableExchange::check_header(Kind kind, int rank) {
  FrameHeader header;
  const ByteBuffer& frame = received(kind)[rank];
  if (frame.size() >= sizeof(header)) std::memcpy(&header, frame.data(), sizeof(header));
  if (frame.size() < sizeof(header) || header.magic != kMagic) {
    return absl::DataLossError(absl::StrCat("rank ", rank, " sent what is no message of tables"));
  }
  const bool evaluates = phase_ == Phase::kEvaluate;
  if (header.kind != static_cast<uint8_t>(kind) || (header.evaluates != 0) != evaluates) {
    return absl::DataLossError(absl::StrCat("rank ", rank, " sent ", name_of(header.kind),
                                            header.evaluates ? " of an evaluation" : "", " where ",
                                            name_of(static_cast<uint8_t>(kind)),
                                            evaluates ? " of an evaluation" : "", " are due"));
  }
  return header.failed != 0;
}

absl::Status TableExchange::read_frames(Kind kind, ReadPart read) {
  return catch_exceptions("reading a message of tables", [&]() -> absl::Status {
    for (int rank = 0; rank < world_size(); ++rank) {
      if (rank == this->rank()) continue;
      absl::string_view frame = received(kind)[rank].view();
      frame.remove_prefix(sizeof(FrameHeader));
      for (EmbeddingCollection* collection : collections_) {
        RETURN_IF_ERROR(read(collection->exchange(), rank, frame),
                        absl::StrCat("a message of rank ", rank));
      }
      if (!frame.empty()) {
        return absl::DataLossError(absl::StrCat(
            frame.size(), " bytes too many in a message of rank ", rank, ": it has other tables"));
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace millrace
