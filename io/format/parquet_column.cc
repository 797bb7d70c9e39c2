#include "io/format/parquet_column.h"

#include <arrow/type.h>
#include <parquet/types.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "io/format/arrow_columns.h"

namespace millrace {
namespace {

// The container of `T` values of a file.
template <typename T, typename ColumnType>
auto& values_of(ColumnType& column) {
  if constexpr (std::is_same_v<T, double>) {
    return column.doubles;
  } else {
    return column.int64s;
  }
}

// `Stored` is what the file has (parquet::Int32Type, ...), `Value` the Arrow type it represents:
// numbers of 8 and 16 bits are stored in 32.
template <typename Stored, typename Value>
class TypedParquetColumn : public ParquetColumn {
 public:
  TypedParquetColumn(ValueType type, ParquetColumnOptions options)
      : group_rows_(options.rows),
        max_bytes_(options.max_bytes),
        reader_(std::move(options.reader)),
        max_definition_(reader_->descr()->max_definition_level()),
        is_list_(reader_->descr()->max_repetition_level() > 0) {
    column_.type = type;
  }

  int64_t first_row() const override { return first_row_; }

  arrow::Status decode(int64_t begin, int64_t end, ParquetLevels& levels) override {
    reserve(std::min(end, group_rows_) - first_row_ + ParquetLevels::kCount);
    while (whole_rows() < end) {
      if (reader_ == nullptr) return arrow::Status::IOError("the row group ends early");
      if (!reader_->HasNext()) {
        reader_.reset();  // and its pages
        continue;
      }
      int64_t values = 0;
      ARROW_ASSIGN_OR_RAISE(const int64_t count, read_values(begin, levels, &values));
      if (count == 0) return arrow::Status::IOError("a page has no values");
      ARROW_RETURN_NOT_OK(add_rows(levels, count, values));
      if (first_row_ + column_.rows > group_rows_) {
        return arrow::Status::IOError("the row group has more rows than it says");
      }
      levels_read_ += count;
      ARROW_RETURN_NOT_OK(keep_below_max(begin, 0));
    }
    if (whole_rows() == group_rows_) reader_.reset();
    return arrow::Status::OK();
  }

  void drop_before(int64_t row) override {
    row = std::min(row, whole_rows());
    if (row <= first_row_) return;
    column_ = copy(row - first_row_, column_.rows);
    first_row_ = row;
  }

  Column take(int64_t begin, int64_t end) override {
    if (begin != first_row_) return copy(begin - first_row_, end - first_row_);
    Column rest = copy(end - first_row_, column_.rows);
    const int64_t values = column_.values() - rest.values();
    column_.rows = end - first_row_;
    if (!column_.offsets.empty()) column_.offsets.resize(column_.rows + 1);
    if constexpr (kIsText) {
      column_.strings.resize(values);
    } else {
      values_of<Number>(column_).resize(values);
    }
    first_row_ = end;
    return std::exchange(column_, std::move(rest));
  }

  int64_t bytes() const override { return column_.bytes(); }

 private:
  using Raw = typename Stored::c_type;
  static constexpr bool kIsText = std::is_same_v<Stored, parquet::ByteArrayType>;
  using Number = std::conditional_t<std::is_floating_point_v<Raw>, double, int64_t>;

  // Up to which row all is decoded: the last row of a list column may continue.
  int64_t whole_rows() const {
    return first_row_ + column_.rows - (is_list_ && reader_ != nullptr ? 1 : 0);
  }

  // Reserves memory for the given number of rows of one value, though not for all that a damaged
  // file may declare.
  void reserve(int64_t rows) {
    rows = std::min(rows, column_.rows + (1 << 20));
    if (rows > room_) room_ = std::max(rows, 2 * room_);
    if (!column_.offsets.empty()) column_.offsets.reserve(room_ + 1);
    if constexpr (!kIsText) values_of<Number>(column_).reserve(room_);
  }

  // Of the rows that are there.
  Column copy(int64_t begin, int64_t end) const {
    Column out;
    out.type = column_.type;
    out.rows = end - begin;
    const int64_t first = column_.begin(begin), last = column_.begin(end);
    if (!column_.offsets.empty()) {
      out.offsets.reserve(out.rows + 1);
      for (int64_t row = begin; row <= end; ++row) {
        out.offsets.push_back(column_.offsets[row] - first);
      }
    }
    if constexpr (kIsText) {
      for (int64_t i = first; i < last; ++i) out.strings.push_back(column_.strings[i]);
    } else {
      const std::vector<Number>& values = values_of<Number>(column_);
      values_of<Number>(out).assign(values.begin() + first, values.begin() + last);
    }
    return out;
  }

  // Returns true if `more` bytes fit, without rows before `begin` if need be.
  arrow::Status keep_below_max(int64_t begin, int64_t more) {
    if (bytes() + more > max_bytes_) drop_before(begin);
    if (bytes() + more > max_bytes_ ||
        levels_read_ * static_cast<int64_t>(2 * sizeof(int16_t)) > max_bytes_) {
      return arrow::Status::OutOfMemory("decoding a column");
    }
    return arrow::Status::OK();
  }

  // Appends the next values, and reads their levels. Returns: how many levels.
  arrow::Result<int64_t> read_values(int64_t begin, ParquetLevels& levels, int64_t* values) {
    auto& reader = static_cast<parquet::TypedColumnReader<Stored>&>(*reader_);
    auto read = [&](Raw* out) {
      return reader.ReadBatch(ParquetLevels::kCount, levels.definition.data(),
                              levels.repetition.data(), out, values);
    };
    if constexpr (std::is_same_v<Raw, Number> && std::is_same_v<Value, Number>) {
      std::vector<Number>& out = values_of<Number>(column_);
      const size_t before = out.size();
      out.resize(before + ParquetLevels::kCount);
      const int64_t count = read(out.data() + before);
      out.resize(before + *values);
      return count;
    } else if constexpr (kIsText) {
      const int64_t count = read(raw_.data());
      // A few bytes may stand for many: a word of the dictionary comes as often as it is asked for.
      int64_t length = 0;
      for (int64_t i = 0; i < *values; ++i) length += raw_[i].len;
      ARROW_RETURN_NOT_OK(keep_below_max(begin, length));
      for (int64_t i = 0; i < *values; ++i) {
        column_.strings.push_back({reinterpret_cast<const char*>(raw_[i].ptr), raw_[i].len});
      }
      return count;
    } else {
      const int64_t count = read(raw_.data());
      std::vector<Number>& out = values_of<Number>(column_);
      const size_t before = out.size();
      out.resize(before + *values);
      for (int64_t i = 0; i < *values; ++i) out[before + i] = static_cast<Value>(raw_[i]);
      return count;
    }
  }

  // Appends the rows that so many levels stand for, of which `values` have a value.
  arrow::Status add_rows(const ParquetLevels& levels, int64_t count, int64_t values) {
    const bool begin_rows =
        !is_list_ || !std::any_of(levels.repetition.begin(), levels.repetition.begin() + count,
                                  [](int16_t level) { return level != 0; });
    // A column with one value in each row needs no offsets.
    if (column_.offsets.empty() && values == count && begin_rows) {
      column_.rows += count;
      return arrow::Status::OK();
    }
    if (column_.offsets.empty()) column_.offsets.reserve(room_ + 1);
    make_jagged(column_);
    // The first row has no list that this value could continue.
    if (is_list_ && first_row_ + column_.rows == 0 && levels.repetition[0] != 0) {
      return arrow::Status::IOError("a list goes on before the first row");
    }
    column_.offsets.resize(column_.rows + count + 1);
    int64_t* const ends = column_.offsets.data();
    const int64_t before = ends[column_.rows];
    int64_t row = column_.rows, total = before;
    for (int64_t i = 0; i < count; ++i) {
      row += !is_list_ || levels.repetition[i] == 0;
      total += levels.definition[i] == max_definition_;
      ends[row] = total;
    }
    column_.offsets.resize(row + 1);
    column_.rows = row;
    // A page states its values and levels separately, and a damaged page may contradict itself.
    if (total - before != values) {
      return arrow::Status::IOError(total - before, " values are announced, and ", values,
                                    " are there");
    }
    return arrow::Status::OK();
  }

  const int64_t group_rows_;
  const int64_t max_bytes_;
  std::shared_ptr<parquet::ColumnReader> reader_;  // as Parquet's library gives it; null at the end
  const int16_t max_definition_;                   // of a value that is there
  const bool is_list_;
  int64_t levels_read_ = 0;
  int64_t first_row_ = 0;  // of those in column_
  int64_t room_ = 0;       // values that column_ shall have room for
  Column column_;
  std::array<Raw, ParquetLevels::kCount> raw_;
};

const arrow::DataType& value_type_of(const arrow::DataType& type) {
  const arrow::DataType* value = list_value_type(type);
  return value != nullptr ? *value : type;
}

using Create = std::unique_ptr<ParquetColumn> (*)(ValueType, ParquetColumnOptions);

template <typename Stored, typename Value>
std::unique_ptr<ParquetColumn> create_typed(ValueType type, ParquetColumnOptions options) {
  return std::make_unique<TypedParquetColumn<Stored, Value>>(type, std::move(options));
}

// How values of an Arrow type are decoded where the file has them as `stored`; null: not here.
Create creator(arrow::Type::type type, parquet::Type::type stored) {
  switch (stored) {
    case parquet::Type::BOOLEAN:
      if (type == arrow::Type::BOOL) return create_typed<parquet::BooleanType, bool>;
      break;
    case parquet::Type::INT32:
      switch (type) {
        case arrow::Type::INT8: return create_typed<parquet::Int32Type, int8_t>;
        case arrow::Type::UINT8: return create_typed<parquet::Int32Type, uint8_t>;
        case arrow::Type::INT16: return create_typed<parquet::Int32Type, int16_t>;
        case arrow::Type::UINT16: return create_typed<parquet::Int32Type, uint16_t>;
        case arrow::Type::UINT32: return create_typed<parquet::Int32Type, uint32_t>;
        case arrow::Type::INT32:
        case arrow::Type::DATE32:
        case arrow::Type::TIME32: return create_typed<parquet::Int32Type, int32_t>;
        default: break;
      }
      break;
    case parquet::Type::INT64:
      switch (type) {
        case arrow::Type::INT64:
        case arrow::Type::UINT64:
        case arrow::Type::TIME64:
        case arrow::Type::TIMESTAMP: return create_typed<parquet::Int64Type, int64_t>;
        default: break;
      }
      break;
    case parquet::Type::FLOAT:
      if (type == arrow::Type::FLOAT) return create_typed<parquet::FloatType, float>;
      break;
    case parquet::Type::DOUBLE:
      if (type == arrow::Type::DOUBLE) return create_typed<parquet::DoubleType, double>;
      break;
    case parquet::Type::BYTE_ARRAY:
      switch (type) {
        case arrow::Type::STRING:
        case arrow::Type::BINARY:
        case arrow::Type::LARGE_STRING:
        case arrow::Type::LARGE_BINARY:
          return create_typed<parquet::ByteArrayType, parquet::ByteArray>;
        default: break;
      }
      break;
    default: break;
  }
  return nullptr;
}

}  // namespace

bool ParquetColumn::can_decode(const parquet::arrow::SchemaField& field,
                               const parquet::SchemaDescriptor& schema) {
  const bool is_list = list_value_type(*field.field->type()) != nullptr;
  if (is_list && field.children.size() != 1) return false;
  const parquet::arrow::SchemaField& leaf = is_list ? field.children[0] : field;
  if (!leaf.is_leaf()) return false;
  const parquet::ColumnDescriptor& stored = *schema.Column(leaf.column_index);
  return stored.max_repetition_level() == (is_list ? 1 : 0) &&
         creator(value_type_of(*field.field->type()).id(), stored.physical_type()) != nullptr;
}

std::unique_ptr<ParquetColumn> ParquetColumn::create(const parquet::arrow::SchemaField& field,
                                                     ParquetColumnOptions options) {
  const Create create =
      creator(value_type_of(*field.field->type()).id(), options.reader->descr()->physical_type());
  const ValueType type = describe_field(*field.field).type;
  return create(type, std::move(options));
}

}  // namespace millrace
