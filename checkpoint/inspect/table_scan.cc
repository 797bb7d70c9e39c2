#include "checkpoint/inspect/table_scan.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;

constexpr int64_t kRowsAtOnce = 4096;

const CheckpointManifest::Table* find_table(const CheckpointManifest& manifest,
                                            absl::string_view table) {
  for (const auto& entry : manifest.tables()) {
    if (entry.name() == table) return &entry;
  }
  return nullptr;
}

// Returns the names of tensors, without "table/NAME/", that every file of the table has.
std::set<std::string> common_tensors(const CheckpointManifest& manifest, absl::string_view table) {
  const std::string prefix = absl::StrCat("table/", table, "/");
  std::set<std::string> common;
  bool first = true;
  for (const File& file : manifest.files()) {
    if (file.kind() != CheckpointManifest::TABLE_FILE || file.table() != table) continue;
    std::set<std::string> here, both;
    for (const auto& tensor : file.tensors()) here.insert(tensor.name().substr(prefix.size()));
    std::set_intersection(common.begin(), common.end(), here.begin(), here.end(),
                          std::inserter(both, both.end()));
    common = first ? here : both;
    first = false;
  }
  return common;
}

const TensorInfo* find_tensor(const TensorFileLayout& layout, const std::string& name) {
  for (const TensorInfo& tensor : layout.tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

absl::StatusOr<std::vector<int64_t>> read_ids(const ChunkedFile& file,
                                              const TensorFileLayout& layout,
                                              const std::string& name) {
  std::vector<int64_t> ids;
  const TensorInfo* tensor = find_tensor(layout, name);
  if (tensor == nullptr) return ids;
  ids.resize(tensor->shape[0]);
  RETURN_IF_ERROR(
      file.read(layout.data_begin() + tensor->begin,
                absl::MakeSpan(reinterpret_cast<char*>(ids.data()), tensor->size_bytes())));
  return ids;
}

}  // namespace

std::vector<TableColumn> table_columns(const CheckpointManifest& manifest,
                                       absl::string_view table) {
  std::vector<TableColumn> columns;
  const CheckpointManifest::Table* entry = find_table(manifest, table);
  if (entry == nullptr) return columns;
  const std::set<std::string> there = common_tensors(manifest, table);
  if (there.count("ids") == 0) return columns;
  auto add = [&](TableColumn column) {
    if (there.count(column.name) > 0) columns.push_back(std::move(column));
  };
  const TensorType type = tensor_type_of_name(entry->dtype()).value_or(TensorType::kF32);
  add({"weights", type, entry->dim(), true});
  for (const auto& slot : entry->slots()) {
    add({absl::StrCat("slot/", slot.name()), TensorType::kF32, slot.size(), true});
  }
  add({"frequency", TensorType::kI64});
  add({"last_step", TensorType::kI64});
  return columns;
}

absl::StatusOr<std::vector<TableColumn>> find_columns(const CheckpointManifest& manifest,
                                                      absl::string_view table,
                                                      const std::vector<std::string>& names) {
  if (find_table(manifest, table) == nullptr) {
    std::vector<std::string> tables;
    for (const auto& entry : manifest.tables()) tables.push_back(entry.name());
    return absl::NotFoundError(
        absl::StrCat("there is no table \"", table, "\"", did_you_mean(table, tables)));
  }
  const std::vector<TableColumn> columns = table_columns(manifest, table);
  if (columns.empty()) {
    return absl::NotFoundError(absl::StrCat("the checkpoint has no rows of table \"", table, "\""));
  }
  std::vector<std::string> known;
  for (const TableColumn& column : columns) known.push_back(column.name);
  std::vector<TableColumn> found;
  for (const std::string& name : names) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) {
      return absl::NotFoundError(absl::StrCat("the checkpoint has no ", name, " of table \"", table,
                                              "\"", did_you_mean(name, known)));
    }
    found.push_back(columns[at - known.begin()]);
  }
  return found;
}

int64_t held_rows(const CheckpointManifest& manifest, absl::string_view table) {
  const std::string ids = absl::StrCat("table/", table, "/ids");
  int64_t rows = 0;
  for (const File& file : manifest.files()) {
    for (const auto& tensor : file.tensors()) {
      if (tensor.name() == ids) rows += tensor.shape(0);
    }
  }
  return rows;
}

// Rows and tombstones of one checkpoint, merged by hash. Has a current row or tombstone until
// done().
class TableScan::Layer {
 public:
  static absl::StatusOr<std::unique_ptr<Layer>> open(const CheckpointReader& checkpoint,
                                                     absl::string_view table,
                                                     const std::vector<TableColumn>& columns) {
    std::unique_ptr<Layer> layer(new Layer(checkpoint, absl::StrCat("table/", table, "/")));
    layer->ids_.row_bytes = sizeof(int64_t);
    layer->columns_.resize(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      layer->columns_[i].name = layer->prefix_ + columns[i].name;
      layer->columns_[i].row_bytes = columns[i].row_bytes();
    }
    for (const File& file : checkpoint.manifest().files()) {
      if (file.kind() == CheckpointManifest::TABLE_FILE && file.table() == table) {
        layer->files_.push_back(&file);
      }
    }
    RETURN_IF_ERROR(layer->settle());
    return layer;
  }

  bool done() const { return row_ == rows_ && tombstone_ == tombstones_.size(); }
  // REQUIRES of the following functions: not done().
  uint64_t hash() const { return hash_; }
  bool is_tombstone() const { return is_tombstone_; }
  void append_to(RowBlock* block) const {
    block->ids.push_back(inverse_placement_hash(hash_));
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Stream& column = columns_[i];
      block->columns[i].append(column.block, (row_ - block_begin_) * column.row_bytes,
                               column.row_bytes);
    }
  }
  absl::Status advance() {
    if (is_tombstone_) {
      ++tombstone_;
    } else {
      ++row_;
    }
    return settle();
  }

 private:
  // One tensor of the open file.
  struct Stream {
    std::string name;
    int64_t row_bytes = 0;
    int64_t begin = 0;  // in the file
    std::unique_ptr<ChunkCursor> cursor;
    std::string block;  // rows from block_begin_ on
  };

  Layer(const CheckpointReader& checkpoint, std::string prefix)
      : checkpoint_(checkpoint), prefix_(std::move(prefix)) {
    ids_.name = prefix_ + "ids";
  }

  // Finds the next row or tombstone.
  absl::Status settle() {
    while (done() && next_file_ < files_.size()) RETURN_IF_ERROR(open_file(*files_[next_file_++]));
    if (done()) return absl::OkStatus();
    if (row_ < rows_ && row_ == block_end_) RETURN_IF_ERROR(read_block());
    uint64_t row_hash = UINT64_MAX, tombstone_hash = UINT64_MAX;
    const bool has_row = row_ < rows_, has_tombstone = tombstone_ < tombstones_.size();
    if (has_row) row_hash = placement_hash(id_at(row_));
    if (has_tombstone) tombstone_hash = placement_hash(tombstones_[tombstone_]);
    is_tombstone_ = !has_row || (has_tombstone && tombstone_hash <= row_hash);
    const uint64_t hash = is_tombstone_ ? tombstone_hash : row_hash;
    const File& file = *files_[next_file_ - 1];
    const bool ascends = !hash_valid_ || hash > hash_;
    const bool twice = has_row && has_tombstone && row_hash == tombstone_hash;
    if (!ascends || twice || hash < file.first_hash() || hash > file.last_hash()) {
      return absl::DataLossError(
          absl::StrCat(opened_->path(), ": ", is_tombstone_ ? prefix_ + "tombstones" : ids_.name,
                       ": id ", inverse_placement_hash(hash), " is not in the order of hashes"));
    }
    hash_ = hash;
    hash_valid_ = true;
    return absl::OkStatus();
  }

  int64_t id_at(int64_t row) const {
    int64_t id;
    std::memcpy(&id, ids_.block.data() + (row - block_begin_) * sizeof(id), sizeof(id));
    return id;
  }

  absl::Status open_file(const File& file) {
    ASSIGN_OR_RETURN(std::unique_ptr<ChunkedFile> opened, checkpoint_.open_file(file));
    ASSIGN_OR_RETURN(const TensorFileLayout layout, checkpoint_.layout(file));
    ASSIGN_OR_RETURN(tombstones_, read_ids(*opened, layout, prefix_ + "tombstones"));
    const TensorInfo* ids = find_tensor(layout, ids_.name);
    rows_ = ids == nullptr ? 0 : ids->shape[0];
    row_ = block_begin_ = block_end_ = 0;
    tombstone_ = 0;
    RETURN_IF_ERROR(place(layout, *opened, &ids_));
    for (Stream& column : columns_) RETURN_IF_ERROR(place(layout, *opened, &column));
    opened_ = std::move(opened);  // the previous file's cursors are gone
    return absl::OkStatus();
  }

  static absl::Status place(const TensorFileLayout& layout, const ChunkedFile& file,
                            Stream* stream) {
    const TensorInfo* tensor = find_tensor(layout, stream->name);
    if (tensor == nullptr) {
      return absl::DataLossError(absl::StrCat(file.path(), " has no ", stream->name));
    }
    stream->begin = layout.data_begin() + tensor->begin;
    stream->cursor = std::make_unique<ChunkCursor>(file);
    return absl::OkStatus();
  }

  absl::Status read_block() {
    block_begin_ = row_;
    block_end_ = std::min(rows_, row_ + kRowsAtOnce);
    RETURN_IF_ERROR(read_block(&ids_));
    for (Stream& column : columns_) RETURN_IF_ERROR(read_block(&column));
    return absl::OkStatus();
  }
  absl::Status read_block(Stream* stream) const {
    stream->block.resize((block_end_ - block_begin_) * stream->row_bytes);
    return stream->cursor->read(stream->begin + block_begin_ * stream->row_bytes,
                                absl::MakeSpan(stream->block));
  }

  const CheckpointReader& checkpoint_;
  const std::string prefix_;
  std::vector<const File*> files_;
  size_t next_file_ = 0;
  std::unique_ptr<ChunkedFile> opened_;
  Stream ids_;
  std::vector<Stream> columns_;
  std::vector<int64_t> tombstones_;
  int64_t rows_ = 0, row_ = 0, block_begin_ = 0, block_end_ = 0;
  size_t tombstone_ = 0;
  uint64_t hash_ = 0;
  bool hash_valid_ = false, is_tombstone_ = false;
};

TableScan::TableScan() = default;
TableScan::~TableScan() = default;

absl::StatusOr<std::unique_ptr<TableScan>> TableScan::open(
    absl::Span<const std::unique_ptr<CheckpointReader>> chain, absl::string_view table,
    const std::vector<std::string>& columns) {
  std::unique_ptr<TableScan> scan(new TableScan());
  const CheckpointManifest& manifest = chain.back()->manifest();
  ASSIGN_OR_RETURN(scan->columns_, find_columns(manifest, table, columns),
                   chain.back()->directory());
  for (const auto& checkpoint : chain) {
    ASSIGN_OR_RETURN(std::unique_ptr<Layer> layer, Layer::open(*checkpoint, table, scan->columns_));
    scan->layers_.push_back(std::move(layer));
  }
  const bool whole = !chain.front()->manifest().has_base();
  if (whole) scan->due_ = find_table(manifest, table)->rows();
  scan->of_ = absl::StrCat(chain.back()->directory(), ", table ", table);
  return scan;
}

absl::Status TableScan::next(RowBlock* block) {
  block->ids.clear();
  block->columns.resize(columns_.size());
  for (std::string& column : block->columns) column.clear();
  while (block->rows() < kRowsAtOnce) {
    const int64_t before = block->rows();
    RETURN_IF_ERROR(take_first(block));
    if (block->rows() == before) break;
  }
  rows_ += block->rows();
  return block->rows() == 0 ? check_count() : absl::OkStatus();
}

// Appends the row of the smallest hash, if any row is left.
absl::Status TableScan::take_first(RowBlock* block) {
  for (;;) {
    const Layer* first = nullptr;  // the newest of equal hashes
    for (const auto& layer : layers_) {
      if (layer->done()) continue;
      if (first == nullptr || layer->hash() <= first->hash()) first = layer.get();
    }
    if (first == nullptr) return absl::OkStatus();
    const bool is_row = !first->is_tombstone();
    if (is_row) first->append_to(block);
    const uint64_t hash = first->hash();
    for (const auto& layer : layers_) {
      if (!layer->done() && layer->hash() == hash) RETURN_IF_ERROR(layer->advance());
    }
    if (is_row) return absl::OkStatus();
  }
}

absl::Status TableScan::check_count() const {
  if (due_ == -1 || due_ == rows_) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(of_, ": has ", rows_, " rows; the manifest says ", due_));
}

absl::StatusOr<std::vector<int64_t>> read_tombstones(const CheckpointReader& checkpoint,
                                                     absl::string_view table) {
  std::vector<int64_t> all;
  for (const File& file : checkpoint.manifest().files()) {
    if (file.kind() != CheckpointManifest::TABLE_FILE || file.table() != table) continue;
    ASSIGN_OR_RETURN(const std::unique_ptr<ChunkedFile> opened, checkpoint.open_file(file));
    ASSIGN_OR_RETURN(const TensorFileLayout layout, checkpoint.layout(file));
    ASSIGN_OR_RETURN(const std::vector<int64_t> ids,
                     read_ids(*opened, layout, absl::StrCat("table/", table, "/tombstones")));
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

}  // namespace millrace
