#include "io/format/tfrecord_reader.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checksum/crc32c.h"
#include "base/status_macros.h"
#include "io/format/byte_source.h"
#include "proto/tf_example.pb.h"

namespace millrace {
namespace {

constexpr int64_t kGroupRows = 16384;
constexpr int64_t kGroupBytes = 8 << 20;
constexpr int64_t kHeaderBytes = 12;
constexpr int64_t kTrailerBytes = 4;
constexpr int64_t kExamplesInArena = 64;
constexpr int64_t kTypedExamples = 1000;  // that are looked at for columns

// Records [first_row, first_row + rows), bytes [begin, end) of the file, decompressed.
struct RecordGroup {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
};

struct TfRecordLayout : public FileLayout {
  int64_t size_bytes = 0;
  bool compressed = false;
  std::vector<RecordGroup> groups;
  std::vector<FileColumn> columns;
};

template <typename T>
T load(const char* bytes) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::string record_place(int64_t row, int64_t offset) {
  return absl::StrCat("record ", row, " at byte ", offset);
}

// The length in a record's header. Errors: DataLoss if it does not fit its checksum.
absl::StatusOr<uint64_t> record_length(const char* header) {
  if (load<uint32_t>(header + 8) != masked_crc32c({header, 8})) {
    return absl::DataLossError("the length does not fit its checksum");
  }
  return load<uint64_t>(header);
}

const TfFeature* find_feature(const TfExample& example, const std::string& name) {
  const auto& features = example.features().feature();
  const auto found = features.find(name);
  return found == features.end() ? nullptr : &found->second;
}

int value_count(const TfFeature& feature) {
  switch (feature.kind_case()) {
    case TfFeature::kBytesList: return feature.bytes_list().value_size();
    case TfFeature::kFloatList: return feature.float_list().value_size();
    case TfFeature::kInt64List: return feature.int64_list().value_size();
    case TfFeature::KIND_NOT_SET: break;
  }
  return 0;
}

// REQUIRES: the feature has values.
ValueType type_of(const TfFeature& feature) {
  if (feature.has_bytes_list()) return ValueType::kString;
  return feature.has_float_list() ? ValueType::kDouble : ValueType::kInt64;
}

FileColumn make_column(const std::string& name, ValueType type) {
  return {.name = name,
          .type = type,
          .type_name = type == ValueType::kString   ? "bytes_list"
                       : type == ValueType::kDouble ? "float_list"
                                                    : "int64_list",
          .exact_integers = 0x1p24};
}

// Appends the feature's values. Returns: false if they are of another type.
bool append_values(const TfFeature& feature, Column* column) {
  if (type_of(feature) != column->type) return false;
  if (feature.has_bytes_list()) {
    for (const std::string& value : feature.bytes_list().value()) column->strings.push_back(value);
  } else if (feature.has_float_list()) {
    const auto& values = feature.float_list().value();
    column->doubles.insert(column->doubles.end(), values.begin(), values.end());
  } else {
    const auto& values = feature.int64_list().value();
    column->int64s.insert(column->int64s.end(), values.begin(), values.end());
  }
  return true;
}

// An example may take many times the memory that its record has bytes: an empty text is two bytes
// of a record, and forty in memory.
constexpr int64_t kRecordsInCap = 32;

// Walks over a file for its groups and columns.
class RecordScanner {
 public:
  RecordScanner(ByteSource& bytes, int64_t max_group_bytes)
      : bytes_(bytes), max_bytes_(std::min<int64_t>(max_group_bytes, 1 << 30) / kRecordsInCap) {}

  // Fills groups and, where none are there, columns.
  absl::Status scan(TfRecordLayout* layout) {
    const bool wants_columns = layout->columns.empty();
    while (true) {
      ASSIGN_OR_RETURN(const bool more, read_record(wants_columns && rows_ < kTypedExamples),
                       record_place(rows_, offset_));
      if (!more) break;
      add_record(layout);
    }
    if (open_.rows > 0) layout->groups.push_back(open_);
    if (!wants_columns) return absl::OkStatus();
    for (const auto& [name, type] : types_) layout->columns.push_back(make_column(name, type));
    return absl::OkStatus();
  }

 private:
  // Returns: false at the end. `typed`: whether to look at its features.
  absl::StatusOr<bool> read_record(bool typed) {
    std::array<char, kHeaderBytes> header;
    ASSIGN_OR_RETURN(const int64_t count, bytes_.read(absl::MakeSpan(header)));
    if (count == 0) return false;
    if (count < kHeaderBytes) return absl::DataLossError("the file ends within it");
    ASSIGN_OR_RETURN(const uint64_t length, record_length(header.data()));
    if (length > static_cast<uint64_t>(max_bytes_)) {
      return absl::DataLossError(absl::StrCat("it has ", length,
                                              " bytes, and a record must not have more than ",
                                              max_bytes_, ": max_group_bytes / ", kRecordsInCap));
    }
    length_ = static_cast<int64_t>(length);
    RETURN_IF_ERROR(read_content(typed));
    return true;
  }

  // A damaged length may be large, and bytes are only taken as they come.
  absl::Status read_content(bool typed) {
    content_.clear();
    for (int64_t left = length_ + kTrailerBytes; left > 0;) {
      const int64_t wanted = std::min<int64_t>(left, 1 << 20);
      const size_t before = typed ? content_.size() : 0;
      content_.resize(before + wanted);
      ASSIGN_OR_RETURN(const int64_t count,
                       bytes_.read(absl::MakeSpan(content_.data() + before, wanted)));
      if (count < wanted) return absl::DataLossError("the file ends within it");
      left -= count;
    }
    TfExample example;
    // Damage is reported when the record is read.
    if (!typed || !example.ParseFromArray(content_.data(), static_cast<int>(length_))) {
      return absl::OkStatus();
    }
    for (const auto& [name, feature] : example.features().feature()) {
      if (value_count(feature) > 0) types_.emplace(name, type_of(feature));
    }
    return absl::OkStatus();
  }

  void add_record(TfRecordLayout* layout) {
    offset_ += kHeaderBytes + length_ + kTrailerBytes;
    ++rows_;
    ++open_.rows;
    open_.end = offset_;
    const bool full = open_.rows == kGroupRows || open_.end - open_.begin >= kGroupBytes;
    if (layout->compressed || !full) return;
    layout->groups.push_back(open_);
    open_ = {.begin = offset_, .end = offset_, .first_row = rows_, .rows = 0};
  }

  ByteSource& bytes_;
  const int64_t max_bytes_;
  int64_t rows_ = 0;
  int64_t offset_ = 0;
  int64_t length_ = 0;  // of the record
  std::string content_;
  RecordGroup open_;
  std::map<std::string, ValueType> types_;
};

// A source that refuses to return more than a given number of bytes: a small file may decompress to
// any size.
class CappedBytes : public ByteSource {
 public:
  CappedBytes(std::unique_ptr<ByteSource> bytes, int64_t cap)
      : bytes_(std::move(bytes)), cap_(cap) {}

  absl::StatusOr<int64_t> read(absl::Span<char> out) override {
    ASSIGN_OR_RETURN(const int64_t count, bytes_->read(out));
    total_ += count;
    if (total_ <= cap_) return count;
    return absl::DataLossError(
        absl::StrCat("the file decompresses to more than max_group_bytes, ", cap_));
  }

 private:
  const std::unique_ptr<ByteSource> bytes_;
  const int64_t cap_;
  int64_t total_ = 0;
};

class TfRecordReader : public FileReader {
 public:
  using FileReader::read;
  TfRecordReader(std::string path, std::unique_ptr<ReadableFile> file, const DataConfig& config)
      : path_(std::move(path)),
        file_(std::move(file)),
        config_(config.tfrecord()),
        max_group_bytes_(config.max_group_bytes()) {}

  absl::Status open(std::shared_ptr<const FileLayout> layout) {
    layout_ = std::static_pointer_cast<const TfRecordLayout>(std::move(layout));
    if (layout_ == nullptr) {
      ASSIGN_OR_RETURN(layout_, make_layout());
    } else if (layout_->size_bytes != file_->size_bytes()) {
      return absl::DataLossError("the file changed while it was being read");
    }
    for (const RecordGroup& group : layout_->groups) group_rows_.push_back(group.rows);
    return absl::OkStatus();
  }

  const std::string& path() const override { return path_; }
  const std::vector<FileColumn>& columns() const override { return layout_->columns; }
  const std::vector<int64_t>& group_rows() const override { return group_rows_; }
  std::shared_ptr<const FileLayout> layout() const override { return layout_; }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests,
                                           BadRows& bad) override {
    RETURN_IF_ERROR(load_group(range.group), path_);
    std::vector<Column> columns(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      columns[i].type = requests[i].as;
      columns[i].rows = range.count;
      columns[i].offsets.reserve(range.count + 1);
      columns[i].offsets.push_back(0);
    }
    // An arena frees examples at once. It is reset from time to time, so that its memory stays
    // small.
    google::protobuf::Arena arena;
    for (int64_t row = 0; row < range.count; ++row) {
      if (row % kExamplesInArena == 0) arena.Reset();
      auto* const example = google::protobuf::Arena::CreateMessage<TfExample>(&arena);
      if (absl::Status status = parse(range.begin + row, example); !status.ok()) {
        RETURN_IF_ERROR(bad.add(row, std::move(status)));
        // A bad example counts as a row without values, so that all columns have the same rows.
        example->Clear();
      }
      RETURN_IF_ERROR(append(*example, range.begin + row, row, requests, bad, &columns));
    }
    for (Column& column : columns) simplify_offsets(column);
    if (range.begin + range.count == group_rows_[range.group]) drop_group();
    return columns;
  }

 private:
  absl::StatusOr<std::shared_ptr<const TfRecordLayout>> make_layout() const {
    auto layout = std::make_shared<TfRecordLayout>();
    layout->size_bytes = file_->size_bytes();
    ASSIGN_OR_RETURN(layout->compressed, is_gzip(*file_));
    for (const TfRecordConfig::Column& column : config_.column()) {
      const ValueType type = column.type() == TfRecordConfig::BYTES   ? ValueType::kString
                             : column.type() == TfRecordConfig::FLOAT ? ValueType::kDouble
                                                                      : ValueType::kInt64;
      layout->columns.push_back(make_column(column.name(), type));
    }
    const std::unique_ptr<ByteSource> bytes = open_bytes(layout->compressed);
    RETURN_IF_ERROR(RecordScanner(*bytes, max_group_bytes_).scan(layout.get()));
    return layout;
  }

  std::unique_ptr<ByteSource> open_bytes(bool compressed) const {
    if (!compressed) return plain_bytes(*file_);
    return std::make_unique<CappedBytes>(gzip_bytes(*file_), max_group_bytes_);
  }

  // Makes content_ the bytes of the group and records_ the places of its records.
  absl::Status load_group(int64_t index) {
    if (index == group_) return absl::OkStatus();
    drop_group();
    const RecordGroup& group = layout_->groups[index];
    content_.resize(group.end - group.begin);
    if (layout_->compressed) {
      ASSIGN_OR_RETURN(const int64_t count, open_bytes(true)->read(absl::MakeSpan(content_)));
      if (count < content_.size()) return changed();
    } else {
      ASSIGN_OR_RETURN(const int64_t count,
                       file_->read_at(group.begin, content_.size(), content_.data()));
      if (count < content_.size()) return changed();
    }
    const int64_t size = static_cast<int64_t>(content_.size());
    int64_t at = 0;
    // The lengths were checked when the file was indexed, so a wrong length means a changed file.
    for (int64_t row = 0; row < group.rows; ++row) {
      if (size - at < kHeaderBytes) return changed();
      const auto length = record_length(content_.data() + at);
      const int64_t room = size - at - kHeaderBytes - kTrailerBytes;
      if (!length.ok() || room < 0 || *length > static_cast<uint64_t>(room)) return changed();
      records_.push_back(at);
      at += kHeaderBytes + static_cast<int64_t>(*length) + kTrailerBytes;
    }
    group_ = index;
    return absl::OkStatus();
  }

  void drop_group() {
    group_ = -1;
    records_.clear();
    content_.clear();
    if (content_.capacity() > 2 * kGroupBytes) content_.shrink_to_fit();
  }

  static absl::Status changed() {
    return absl::DataLossError("the file changed while it was being read");
  }

  // `row` within the group. Errors: DataLoss naming the place.
  absl::Status parse(int64_t row, TfExample* example) const {
    const char* const record = content_.data() + records_[row];
    const uint64_t length = load<uint64_t>(record);
    const absl::string_view bytes(record + kHeaderBytes, length);
    if (load<uint32_t>(bytes.data() + length) != masked_crc32c(bytes)) {
      return place_error(row, ": the bytes do not fit their checksum");
    }
    if (!example->ParseFromArray(bytes.data(), static_cast<int>(length))) {
      return place_error(row, ": the bytes are no tf.Example");
    }
    return absl::OkStatus();
  }

  absl::Status place_error(int64_t row, absl::string_view what) const {
    const RecordGroup& group = layout_->groups[group_];
    return absl::DataLossError(absl::StrCat(
        path_, ", ", record_place(group.first_row + row, group.begin + records_[row]), what));
  }

  absl::Status append(const TfExample& example, int64_t group_row, int64_t row,
                      absl::Span<const ColumnRequest> requests, BadRows& bad,
                      std::vector<Column>* columns) const {
    for (size_t i = 0; i < requests.size(); ++i) {
      const FileColumn& column = layout_->columns[requests[i].column];
      const TfFeature* const feature = find_feature(example, column.name);
      int64_t count = feature == nullptr ? 0 : value_count(*feature);
      if (count > 0 && !append_values(*feature, &(*columns)[i])) {
        RETURN_IF_ERROR(
            bad.add(row, place_error(group_row, absl::StrCat(", column ", column.name, ": holds ",
                                                             describe(type_of(*feature)), " where ",
                                                             describe(column.type), " are due"))));
        count = 0;
      }
      (*columns)[i].offsets.push_back((*columns)[i].offsets.back() + count);
    }
    return absl::OkStatus();
  }

  const std::string path_;
  const std::unique_ptr<ReadableFile> file_;
  const TfRecordConfig config_;
  const int64_t max_group_bytes_;
  std::shared_ptr<const TfRecordLayout> layout_;  // shared with readers of the same file
  std::vector<int64_t> group_rows_;

  // The group that is being read.
  int64_t group_ = -1;
  std::string content_;
  std::vector<int64_t> records_;  // where each begins in content_
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileReader>> open_tfrecord(
    FileSystem& files, const std::string& path, const DataConfig& config,
    std::shared_ptr<const FileLayout> layout) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  auto reader = std::make_unique<TfRecordReader>(path, std::move(file), config);
  RETURN_IF_ERROR(reader->open(std::move(layout)),
                  absl::StrCat("cannot open ", path, " as a TFRecord file"));
  return reader;
}

MILLRACE_REGISTER_FILE_FORMAT(tfrecord, "TFRecord files of tf.Example",
                              {.format = DataConfig::TFRECORD,
                               .extensions = {".tfrecord", ".tfrecords", ".tfrecord.gz",
                                              ".tfrecords.gz"},
                               .open = open_tfrecord});

}  // namespace millrace
