#include "checkpoint/state/table_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/state/table_tensors.h"

namespace millrace {
namespace {

constexpr int kMostTableFiles = 1024;
constexpr int64_t kRowsAhead = 12;  // prefetch distance while a row is copied

// Returns the first placement hash of piece `index` of `count` equal ones of a rank's hashes.
uint64_t first_hash(const Placement& placement, int64_t index, int64_t count) {
  const absl::uint128 all =
      absl::uint128(placement.last_hash()) - absl::uint128(placement.first_hash()) + 1;
  return placement.first_hash() + absl::Uint128Low64((all * index + (count - 1)) / count);
}

// Calls `use` for the index of each of `ids` in the range of a file.
template <typename Use>
void for_ids_of(const CheckpointManifest::File& file, absl::Span<const int64_t> ids,
                const Use& use) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint64_t hash = placement_hash(ids[i]);
    if (hash >= file.first_hash() && hash <= file.last_hash()) use(i);
  }
}

template <typename T>
void append(T value, std::string* bytes) {
  char buffer[sizeof(T)];
  std::memcpy(buffer, &value, sizeof(T));
  bytes->append(buffer, sizeof(T));
}

}  // namespace

int64_t files_of_rank(int64_t bytes, int world_size, int64_t file_bytes) {
  const int64_t each = file_bytes * world_size;
  return std::clamp<int64_t>((bytes + each - 1) / each, 1,
                             std::max(1, kMostTableFiles / world_size));
}

absl::StatusOr<TableWriter> TableWriter::create(std::unique_ptr<TableSnapshot> table,
                                                const TableWriterOptions& options,
                                                ThreadPool& threads) {
  if (!is_table_name(table->name())) {
    return absl::InvalidArgumentError(
        absl::StrCat("table \"", table->name(),
                     "\" cannot be saved: names of tables are up to 128 letters, digits, _ and -"));
  }
  const std::string what = absl::StrCat("table ", table->name());
  TableWriter writer(std::move(table));
  const TableSnapshot& snapshot = *writer.table_;
  writer.prefix_ = table_prefix(snapshot.name());
  writer.entry_ = table_entry(snapshot, options.row_state);
  TableState state;
  if (options.table_state) {
    state = {snapshot.admission_state(), snapshot.evicted_log()};
    writer.entry_.set_applied_steps(snapshot.applied_steps());
    writer.entry_.set_evicted_log_begins(snapshot.evicted_log_begins());
    writer.entry_.set_state_digest(
        format_digest(table_state_digest(state.admission, state.evicted, snapshot.placement())));
  }
  // Placement order makes the rows of each file contiguous, and readers search ids in this order.
  writer.rows_ = snapshot.rows().in_placement_order(threads);
  if (options.since.has_value()) {
    // An id that has a row again is no tombstone, so this call needs all rows, also unchanged ones.
    ASSIGN_OR_RETURN(writer.tombstones_, snapshot.evicted_since(*options.since, writer.rows_));
    writer.leave_out(options);
  }
  RETURN_IF_ERROR(writer.plan_files(options, state), what);
  return writer;
}

void TableWriter::leave_out(const TableWriterOptions& options) {
  const RowSnapshot& rows = table_->rows();
  rows_.erase(
      std::remove_if(rows_.begin(), rows_.end(),
                     [&](RowIndex row) { return rows.meta(row).last_step <= *options.since; }),
      rows_.end());
}

absl::Status TableWriter::plan_files(const TableWriterOptions& options, const TableState& state) {
  const Placement& placement = table_->placement();
  const int64_t first = placement.rank * options.files;
  const int64_t total = placement.world_size * options.files;
  const RowSnapshot& all = table_->rows();
  size_t begin = 0;
  for (int64_t index = 0; index < options.files; ++index) {
    File file;
    file.entry.set_name(table_file_name(table_->name(), first + index, total));
    file.entry.set_kind(CheckpointManifest::TABLE_FILE);
    file.entry.set_table(table_->name());
    file.entry.set_first_hash(first_hash(placement, index, options.files));
    file.entry.set_last_hash(index + 1 == options.files
                                 ? placement.last_hash()
                                 : first_hash(placement, index + 1, options.files) - 1);
    file.first_row = begin;
    // The rows are in placement order, so the next file begins where this file ends.
    const auto end = std::partition_point(rows_.begin() + begin, rows_.end(), [&](RowIndex row) {
      return placement_hash(all.id(row)) <= file.entry.last_hash();
    });
    file.end_row = begin = end - rows_.begin();
    RETURN_IF_ERROR(plan_file(options, state, file));
    files_.push_back(std::move(file));
  }
  return absl::OkStatus();
}

absl::Status TableWriter::plan_file(const TableWriterOptions& options, const TableState& state,
                                    File& file) const {
  const RowLayout& layout = table_->rows().layout();
  const auto count = static_cast<int64_t>(file.end_row - file.first_row);
  std::vector<TensorInfo> tensors;
  const auto add = [&](const std::string& name, TensorType type, std::vector<int64_t> shape,
                       Source source) {
    tensors.push_back({prefix_ + name, type, std::move(shape)});
    file.sources.emplace(prefix_ + name, std::move(source));
  };
  add("ids", TensorType::kI64, {count}, {Source::kId});
  add("weights", tensor_type_of(layout.type), {count, layout.dim}, {Source::kRecord, 0});
  if (options.row_state) {
    add("frequency", TensorType::kI64, {count}, {Source::kFrequency});
    add("last_step", TensorType::kI64, {count}, {Source::kLastStep});
    int64_t at = layout.weight_bytes;
    for (const SlotSpec& slot : table_->slots()) {
      add("slot/" + slot.name, TensorType::kF32, {count, slot.size}, {Source::kRecord, at});
      at += 4 * slot.size;
    }
  }
  plan_table_state(state, file, tensors);
  ASSIGN_OR_RETURN(file.layout,
                   TensorFileLayout::create(std::move(tensors), {{kFormatKey, kCheckpointFormat}}));
  return absl::OkStatus();
}

void TableWriter::plan_table_state(const TableState& state, File& file,
                                   std::vector<TensorInfo>& tensors) const {
  // Tensors without elements are omitted.
  const auto add = [&](const std::string& name, TensorType type, std::vector<int64_t> shape,
                       std::string bytes) {
    if (bytes.empty()) return;
    tensors.push_back({prefix_ + name, type, std::move(shape)});
    file.sources.emplace(prefix_ + name, Source{Source::kBytes, 0, std::move(bytes)});
  };
  const auto add_ids = [&](const std::string& name, std::string bytes) {
    add(name, TensorType::kI64, {static_cast<int64_t>(bytes.size()) / 8}, bytes);
  };
  std::string tombstones;
  for_ids_of(file.entry, tombstones_, [&](size_t i) { append(tombstones_[i], &tombstones); });
  add_ids("tombstones", std::move(tombstones));

  const AdmissionState& admission = state.admission;
  std::string ids, counts;
  for_ids_of(file.entry, admission.ids, [&](size_t i) {
    append(admission.ids[i], &ids);
    append(admission.counts[i], &counts);
  });
  const auto candidates = static_cast<int64_t>(counts.size()) / 4;
  add_ids("admission/ids", std::move(ids));
  add("admission/counts", TensorType::kU32, {candidates}, std::move(counts));

  const CountSketchState& sketch = admission.sketch;
  const int64_t range_bytes = sketch.depth * sketch.width;
  const auto [first, end] = sketch_ranges(file.entry.first_hash(), file.entry.last_hash());
  if (range_bytes > 0 && end > first) {
    add("admission/sketch", TensorType::kU8, {end - first, sketch.depth, sketch.width},
        std::string(reinterpret_cast<const char*>(sketch.counters.data()) + first * range_bytes,
                    (end - first) * range_bytes));
  }

  const EvictedLogState& evicted = state.evicted;
  std::string gone, steps;
  for_ids_of(file.entry, evicted.ids, [&](size_t i) {
    append(evicted.ids[i], &gone);
    append(evicted.steps[i], &steps);
  });
  add_ids("evicted/ids", std::move(gone));
  add_ids("evicted/steps", std::move(steps));
}

int64_t TableWriter::size_bytes() const {
  int64_t bytes = 0;
  for (const File& file : files_) bytes += file.layout->size_bytes();
  return bytes;
}

absl::Status TableWriter::write(CommitDirectory& directory, ThreadPool& threads) {
  const absl::Status status = write_files(directory, threads);
  table_->finish();
  return status;
}

absl::Status TableWriter::write_files(CommitDirectory& directory, ThreadPool& threads) const {
  for (const File& file : files_) {
    const auto fill_piece = [&](const TensorInfo& tensor, int64_t begin, absl::Span<char> bytes) {
      fill(file, tensor, begin, bytes);
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(directory.write_tensors(file.entry, *file.layout, fill_piece, threads));
  }
  return absl::OkStatus();
}

// `begin` and the size are multiples of 8: numbers of 8 bytes come first in a file, and chunks are
// cut at multiples of 8.
template <typename Value>
void TableWriter::fill_numbers(int64_t begin, absl::Span<char> bytes, const Value& value) {
  for (size_t at = 0; at < bytes.size(); at += 8) {
    const int64_t number = value((begin + at) / 8);
    std::memcpy(bytes.data() + at, &number, 8);
  }
}

void TableWriter::fill(const File& file, const TensorInfo& tensor, int64_t begin,
                       absl::Span<char> bytes) const {
  const RowSnapshot& all = table_->rows();
  const RowIndex* rows = rows_.data() + file.first_row;
  const int64_t last = static_cast<int64_t>(file.end_row - file.first_row) - 1;
  const Source& source = file.sources.at(tensor.name);
  // Rows in placement order are scattered in memory, so each loop fetches a later row.
  const auto ahead = [&](int64_t i) { return rows[std::min(i + kRowsAhead, last)]; };
  switch (source.kind) {
    case Source::kBytes:
      std::memcpy(bytes.data(), source.bytes.data() + begin, bytes.size());
      return;
    case Source::kId:
      fill_numbers(begin, bytes, [&](int64_t i) { return all.id(rows[i]); });
      return;
    case Source::kFrequency:
      fill_numbers(begin, bytes, [&](int64_t i) -> int64_t {
        all.prefetch_meta(ahead(i));
        return all.meta(rows[i]).frequency;
      });
      return;
    case Source::kLastStep:
      fill_numbers(begin, bytes, [&](int64_t i) -> int64_t {
        all.prefetch_meta(ahead(i));
        return all.meta(rows[i]).last_step;
      });
      return;
    case Source::kRecord: break;
  }
  const int64_t row_bytes = tensor.size_bytes() / tensor.shape[0];
  for_each_row_piece(row_bytes, begin, static_cast<int64_t>(bytes.size()),
                     [&](int64_t row, int64_t at, int64_t from, int64_t count) {
                       all.prefetch_record(ahead(row), source.at, row_bytes);
                       all.copy(rows[row], source.at + at, count, bytes.data() + from);
                     });
}

}  // namespace millrace
