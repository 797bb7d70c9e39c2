#include "checkpoint/state/table_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "checkpoint/format/name_path.h"
#include "checkpoint/state/table_tensors.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;

constexpr int64_t kRowsAhead = 12;  // prefetch distance while a row is written

// One evicted id of a file.
struct Evicted {
  int64_t step = 0;
  uint64_t hash = 0;
  int64_t id = 0;
  auto key() const { return std::make_pair(step, hash); }
};

class TableLoad {
 public:
  TableLoad(const CheckpointReader& checkpoint, const TableReaderOptions& options,
            EmbeddingTable& table, ThreadPool& threads)
      : checkpoint_(checkpoint),
        options_(options),
        table_(table),
        threads_(threads),
        first_hash_(table.placement().first_hash()),
        last_hash_(table.placement().last_hash()),
        prefix_(table_prefix(options.table)) {}

  absl::Status run() {
    for (const File& file : checkpoint_.manifest().files()) {
      if (file.kind() != CheckpointManifest::TABLE_FILE || file.table() != options_.table) continue;
      if (file.last_hash() < first_hash_ || file.first_hash() > last_hash_) continue;
      RETURN_IF_ERROR(name_path(read_file(file), join_path(checkpoint_.directory(), file.name())));
    }
    return options_.table_state ? set_table_state() : absl::OkStatus();
  }

 private:
  // The destination of a tensor's bytes.
  struct Target {
    enum Kind { kRecord, kFrequency, kLastStep, kBytes, kIds };
    Kind kind = kBytes;
    int64_t at = 0;                             // offset in a record
    std::string* bytes = nullptr;               // the whole tensor
    const std::vector<int64_t>* ids = nullptr;  // likewise, as they were read before
  };

  absl::Status read_file(const File& file) {
    ASSIGN_OR_RETURN(const TensorFileLayout layout, checkpoint_.layout(file));
    ASSIGN_OR_RETURN(const auto opened, checkpoint_.open_file(file));
    opened->will_need_first();
    RETURN_IF_ERROR(read_ids(file, *opened, layout, "tombstones", tombstones_));
    table_.content().drop_rows(tombstones_);  // tombstones of other ranks have no rows here
    RETURN_IF_ERROR(read_ids(file, *opened, layout, "ids", ids_));
    const auto before = [](int64_t id, uint64_t hash) { return placement_hash(id) < hash; };
    const auto begin = std::lower_bound(ids_.begin(), ids_.end(), first_hash_, before);
    const auto end = std::partition_point(
        begin, ids_.end(), [&](int64_t id) { return placement_hash(id) <= last_hash_; });
    first_row_ = begin - ids_.begin();
    const auto own = absl::MakeConstSpan(ids_).subspan(first_row_, end - begin);
    const bool all_slots = options_.row_state && !options_.slots.has_value();
    ASSIGN_OR_RETURN(
        rows_, table_.content().place_rows(own, all_slots ? TableContent::NewSlots::kUnset
                                                          : TableContent::NewSlots::kInitial));
    RETURN_IF_ERROR(plan_targets(layout));
    RETURN_IF_ERROR(opened->read_pieces(
        [&](int64_t offset, absl::Span<const char> bytes) {
          return layout.take(
              offset, bytes,
              [&](const TensorInfo& tensor, int64_t begin, absl::Span<const char> piece) {
                return take(tensor, begin, piece);
              });
        },
        threads_, [&](int64_t offset, int64_t size) { return needs(layout, offset, size); }));
    return keep_file_state(file);
  }

  // Returns true if these bytes of a file contain data for this rank.
  bool needs(const TensorFileLayout& layout, int64_t offset, int64_t size) const {
    if (offset < layout.data_begin()) return true;
    for (const TensorInfo& tensor : layout.tensors()) {
      int64_t begin = layout.data_begin() + tensor.begin;
      int64_t end = begin + tensor.size_bytes();
      if (is_by_row(tensor)) {
        const int64_t row_bytes = ids_.empty() ? 0 : tensor.size_bytes() / tensor.shape[0];
        begin += first_row_ * row_bytes;
        end = begin + static_cast<int64_t>(rows_.size()) * row_bytes;
      }
      if (begin < offset + size && end > offset) return true;
    }
    return false;
  }

  // Returns true if a tensor has a part per row. Excludes the ids, which are read whole.
  bool is_by_row(const TensorInfo& tensor) const {
    absl::string_view name = tensor.name;
    return absl::ConsumePrefix(&name, prefix_) &&
           (name == "weights" || name == "frequency" || name == "last_step" ||
            absl::StartsWith(name, "slot/"));
  }

  // Reads a tensor of ids, if it exists: ascending, without duplicates, in the file's range of
  // hashes. Their digest is checked later, when the whole file is read; that pass compares the ids
  // with the ids read here.
  absl::Status read_ids(const File& file, const ChunkedFile& opened, const TensorFileLayout& layout,
                        absl::string_view what, std::vector<int64_t>& ids) const {
    const std::string name = absl::StrCat(prefix_, what);
    ids.clear();
    for (const TensorInfo& tensor : layout.tensors()) {
      if (tensor.name != name) continue;
      ids.resize(tensor.shape[0]);
      RETURN_IF_ERROR(opened.read_unchecked(
          layout.data_begin() + tensor.begin,
          absl::MakeSpan(reinterpret_cast<char*>(ids.data()), tensor.size_bytes())));
    }
    uint64_t before = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const uint64_t hash = placement_hash(ids[i]);
      const bool ascends = i == 0 || before < hash;
      before = hash;
      if (ascends && hash >= file.first_hash() && hash <= file.last_hash()) continue;
      return absl::DataLossError(absl::StrCat(
          name, ": id ", ids[i], ", number ", i,
          ascends ? ", belongs into another file" : ", is not in the order of hashes"));
    }
    return absl::OkStatus();
  }

  // Returns the name of a slot in the checkpoint; "" if the slot is not read.
  std::string name_there(const SlotSpec& slot) const {
    if (!options_.slots.has_value()) return slot.name;
    const auto found = options_.slots->find(slot.name);
    return found == options_.slots->end() ? "" : found->second;
  }

  absl::Status plan_targets(const TensorFileLayout& layout) {
    targets_.clear();
    bytes_.clear();
    targets_[prefix_ + "ids"] = {Target::kIds, 0, nullptr, &ids_};
    if (!tombstones_.empty()) {
      targets_[prefix_ + "tombstones"] = {Target::kIds, 0, nullptr, &tombstones_};
    }
    targets_[prefix_ + "weights"] = {Target::kRecord, 0};
    if (options_.row_state) {
      targets_[prefix_ + "frequency"] = {Target::kFrequency};
      if (options_.last_step) targets_[prefix_ + "last_step"] = {Target::kLastStep};
      int64_t at = table_.layout().weight_bytes;
      for (const SlotSpec& slot : table_.slots()) {
        const std::string name = name_there(slot);
        if (!name.empty()) targets_[prefix_ + "slot/" + name] = {Target::kRecord, at};
        at += 4 * slot.size;
      }
    }
    // Without this check, the rows of a missing tensor would silently keep their initial values.
    std::set<std::string> there;
    for (const TensorInfo& tensor : layout.tensors()) there.insert(tensor.name);
    for (const auto& [name, target] : targets_) {
      if (there.count(name) == 0) return absl::DataLossError(absl::StrCat(name, " is missing"));
    }
    if (!options_.table_state) return absl::OkStatus();
    // Files omit these tensors if they have no elements, so none is required.
    for (const char* what : {"admission/ids", "admission/counts", "admission/sketch", "evicted/ids",
                             "evicted/steps"}) {
      for (const TensorInfo& tensor : layout.tensors()) {
        if (tensor.name != prefix_ + what) continue;
        std::string& bytes = bytes_[what];
        bytes.resize(tensor.size_bytes());
        targets_[tensor.name] = {Target::kBytes, 0, &bytes};
        shapes_[what] = tensor.shape;
      }
    }
    return absl::OkStatus();
  }

  // Cuts a piece of a tensor of rows to the rows of this rank. Returns the piece's begin relative
  // to the first byte of this rank's rows.
  int64_t cut_to_own(int64_t row_bytes, int64_t begin, absl::Span<const char>* bytes) const {
    const int64_t from = first_row_ * row_bytes;
    const int64_t to = from + static_cast<int64_t>(rows_.size()) * row_bytes;
    const int64_t first = std::clamp<int64_t>(from - begin, 0, bytes->size());
    const int64_t end = std::clamp<int64_t>(to - begin, first, bytes->size());
    *bytes = bytes->subspan(first, end - first);
    return begin + first - from;
  }

  // Called from any thread: no two pieces overlap, so no two threads write the same bytes.
  absl::Status take(const TensorInfo& tensor, int64_t begin, absl::Span<const char> bytes) const {
    const auto found = targets_.find(tensor.name);
    if (found == targets_.end()) return absl::OkStatus();
    const Target& target = found->second;
    TableContent& content = table_.content();
    switch (target.kind) {
      case Target::kBytes:
        std::memcpy(target.bytes->data() + begin, bytes.data(), bytes.size());
        return absl::OkStatus();
      case Target::kIds:
        // Rows were placed by these ids before their digest was checked, so both readings must
        // agree.
        if (std::memcmp(reinterpret_cast<const char*>(target.ids->data()) + begin, bytes.data(),
                        bytes.size()) == 0) {
          return absl::OkStatus();
        }
        return absl::DataLossError(absl::StrCat(tensor.name, " changed while it was read"));
      case Target::kFrequency:
        return take_counts(begin, bytes, [&](RowIndex row, uint32_t value) {
          content.mutable_row(row).meta.frequency = value;
        });
      case Target::kLastStep:
        return take_counts(begin, bytes, [&](RowIndex row, uint32_t value) {
          content.mutable_row(row).meta.last_step = value;
        });
      case Target::kRecord: break;
    }
    const int64_t row_bytes = tensor.size_bytes() / tensor.shape[0];
    begin = cut_to_own(row_bytes, begin, &bytes);
    const int64_t last = static_cast<int64_t>(rows_.size()) - 1;
    for_each_row_piece(row_bytes, begin, static_cast<int64_t>(bytes.size()),
                       [&](int64_t row, int64_t at, int64_t from, int64_t count) {
                         // Rows are scattered in memory: fetches a later row while this row is
                         // copied.
                         const RowIndex ahead = rows_[std::min(row + kRowsAhead, last)];
                         const char* next = content.mutable_row(ahead).record + target.at;
                         for (int64_t b = 0; b < row_bytes; b += 64)
                           __builtin_prefetch(next + b, 1);
                         char* record = content.mutable_row(rows_[row]).record;
                         std::memcpy(record + target.at + at, bytes.data() + from, count);
                       });
    return absl::OkStatus();
  }

  template <typename Set>
  absl::Status take_counts(int64_t begin, absl::Span<const char> bytes, const Set& set) const {
    begin = cut_to_own(8, begin, &bytes);
    for (size_t at = 0; at < bytes.size(); at += 8) {
      int64_t value;
      std::memcpy(&value, bytes.data() + at, 8);
      if (value < 0 || value > std::numeric_limits<uint32_t>::max()) {
        return absl::DataLossError(absl::StrCat("number ", first_row_ + (begin + at) / 8, " is ",
                                                value, ", not in 0 to 2^32 - 1"));
      }
      set(rows_[(begin + at) / 8], static_cast<uint32_t>(value));
    }
    return absl::OkStatus();
  }

  template <typename T>
  std::vector<T> numbers(const char* what) const {
    const auto found = bytes_.find(what);
    if (found == bytes_.end()) return {};
    std::vector<T> numbers(found->second.size() / sizeof(T));
    std::memcpy(numbers.data(), found->second.data(), numbers.size() * sizeof(T));
    return numbers;
  }

  bool is_own(int64_t id) const { return table_.placement().owns(id); }

  // Collects the part of the table's state in this file that belongs to this rank.
  absl::Status keep_file_state(const File& file) {
    const std::vector<int64_t> ids = numbers<int64_t>("admission/ids");
    const std::vector<uint32_t> counts = numbers<uint32_t>("admission/counts");
    if (counts.size() != ids.size()) {
      return absl::DataLossError("admission/ids and admission/counts differ in length");
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!is_own(ids[i])) continue;
      admission_.ids.push_back(ids[i]);
      admission_.counts.push_back(counts[i]);
    }
    RETURN_IF_ERROR(keep_ranges(file, numbers<uint8_t>("admission/sketch")));
    const std::vector<int64_t> gone = numbers<int64_t>("evicted/ids");
    const std::vector<int64_t> steps = numbers<int64_t>("evicted/steps");
    if (steps.size() != gone.size()) {
      return absl::DataLossError("evicted/ids and evicted/steps differ in length");
    }
    for (size_t i = 0; i < gone.size(); ++i) {
      if (is_own(gone[i])) evicted_.push_back({steps[i], placement_hash(gone[i]), gone[i]});
    }
    return absl::OkStatus();
  }

  // Takes this rank's ranges of a sketch. The other ranges stay 0.
  absl::Status keep_ranges(const File& file, const std::vector<uint8_t>& bytes) {
    if (bytes.empty() || !options_.admission) return absl::OkStatus();
    CountSketchState& sketch = admission_.sketch;
    const std::vector<int64_t>& shape = shapes_.at("admission/sketch");
    const auto [begin, end] = sketch_ranges(file.first_hash(), file.last_hash());
    const bool first = sketch.counters.empty();
    if (first) {
      sketch.depth = shape[1];
      sketch.width = shape[2];
    }
    if (shape[0] != end - begin || shape[1] != sketch.depth || shape[2] != sketch.width) {
      return absl::DataLossError(absl::StrCat("admission/sketch has the shape [",
                                              absl::StrJoin(shape, ", "), "]; [", end - begin, ", ",
                                              sketch.depth, ", ", sketch.width, "] is due"));
    }
    const int64_t range_bytes = sketch.depth * sketch.width;
    // The first shape is compared with the configuration, and all later shapes with the first.
    if (first) {
      const CountSketchState own = table_.content().admission_state().sketch;
      if (sketch.depth != own.depth || sketch.width != own.width) {
        return absl::InvalidArgumentError(absl::StrCat(
            "admission/sketch has ", sketch.depth, " times ", sketch.width,
            " counters in a range; the configuration gives ", own.depth, " times ", own.width));
      }
      sketch.counters.resize(kSketchRanges * range_bytes);
    }
    const SketchRanges own = sketch_ranges(first_hash_, last_hash_);
    const int64_t own_begin = std::max(begin, own.begin);
    const int64_t own_end = std::min(end, own.end);
    if (own_begin >= own_end) return absl::OkStatus();
    ranges_read_ += own_end - own_begin;
    std::memcpy(sketch.counters.data() + own_begin * range_bytes,
                bytes.data() + (own_begin - begin) * range_bytes,
                (own_end - own_begin) * range_bytes);
    return absl::OkStatus();
  }

  absl::Status set_table_state() {
    const SketchRanges ranges = sketch_ranges(first_hash_, last_hash_);
    if (ranges_read_ > 0 && ranges_read_ < ranges.end - ranges.begin) {
      return absl::DataLossError(absl::StrCat(
          checkpoint_.directory(), ": admission/sketch is missing in a file of the table"));
    }
    const auto& tables = checkpoint_.manifest().tables();
    const auto entry = std::find_if(tables.begin(), tables.end(),
                                    [&](const auto& t) { return t.name() == options_.table; });
    std::sort(evicted_.begin(), evicted_.end(),
              [](const Evicted& a, const Evicted& b) { return a.key() < b.key(); });
    EvictedLogState log;
    log.begins = entry->evicted_log_begins();
    for (const Evicted& evicted : evicted_) {
      // A rank whose log begins earlier wrote this entry.
      if (evicted.step >= 0 && evicted.step < log.begins) continue;
      log.ids.push_back(evicted.id);
      log.steps.push_back(evicted.step);
    }
    RETURN_IF_ERROR(table_.content().set_evicted_log(log));
    return options_.admission ? table_.content().set_admission_state(admission_) : absl::OkStatus();
  }

  const CheckpointReader& checkpoint_;
  const TableReaderOptions& options_;
  EmbeddingTable& table_;
  ThreadPool& threads_;
  const uint64_t first_hash_, last_hash_;  // of this rank
  const std::string prefix_;

  // State of the current file.
  std::vector<int64_t> tombstones_;
  std::vector<int64_t> ids_;
  int64_t first_row_ = 0;                     // in the file: first row of this rank
  std::vector<RowIndex> rows_;                // of this rank
  std::map<std::string, Target> targets_;     // by name of tensor
  std::map<std::string, std::string> bytes_;  // by name after the prefix
  std::map<std::string, std::vector<int64_t>> shapes_;

  // State of all files so far.
  AdmissionState admission_;
  int64_t ranges_read_ = 0;  // ranges of the sketch, of this rank
  std::vector<Evicted> evicted_;
};

}  // namespace

absl::Status read_table(const CheckpointReader& checkpoint, const TableReaderOptions& options,
                        EmbeddingTable& table, ThreadPool& threads) {
  return annotate(TableLoad(checkpoint, options, table, threads).run(),
                  absl::StrCat("table ", options.table));
}

absl::StatusOr<PlacedRows> read_table_chain(CheckpointChain chain, TableReaderOptions options,
                                            EmbeddingTable& table, ThreadPool& threads) {
  const bool table_state = options.table_state;
  PlacedRows placed;
  for (const std::unique_ptr<CheckpointReader>& checkpoint : chain) {
    const auto& tables = checkpoint->manifest().tables();
    const auto entry = std::find_if(tables.begin(), tables.end(),
                                    [&](const auto& t) { return t.name() == options.table; });
    const bool last = checkpoint == chain.back();
    // The table was added after this part of the chain.
    if (entry == tables.end() && !last) continue;
    options.table_state = table_state && last;
    RETURN_IF_ERROR(
        name_path(read_table(*checkpoint, options, table, threads), checkpoint->directory()));
    placed.due = entry->rows();
  }
  placed.what = absl::StrCat(chain.back()->directory(), ": table ", options.table);
  placed.here = table.rows();
  if (table.placement().world_size == 1) {
    RETURN_IF_ERROR(check_placed_rows(placed));
  } else {
    table.set_rows_of_all_ranks(0);
    RETURN_IF_ERROR(table.check_new_rows(placed.due));
  }
  return placed;
}

}  // namespace millrace
