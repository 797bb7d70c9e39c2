#include "tools/output/csv_rows.h"

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/util/formatting.h>

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lines/line_text.h"

namespace millrace {
namespace {

// Appends a text. An empty text is quoted, unlike a missing one.
void append_text(std::string_view value, std::string& text) {
  text.append(value.empty() ? "\"\"" : csv_field({value.data(), value.size()}));
}

// Appends the value of a row with a value.
using AppendCell = std::function<void(int64_t row, std::string& text)>;

template <typename Type>
AppendCell append_numbers(const arrow::Array& array) {
  const auto& numbers = static_cast<const arrow::NumericArray<Type>&>(array);
  // Shared by copies of the function.
  auto format = std::make_shared<arrow::internal::StringFormatter<Type>>();
  return [&numbers, format](int64_t row, std::string& text) {
    (*format)(numbers.Value(row), [&text](std::string_view digits) { text.append(digits); });
  };
}

// Returns the function for a column. `array` must outlive the function.
arrow::Result<AppendCell> append_cells(const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::INT64: return append_numbers<arrow::Int64Type>(array);
    case arrow::Type::UINT64: return append_numbers<arrow::UInt64Type>(array);
    case arrow::Type::FLOAT: return append_numbers<arrow::FloatType>(array);
    case arrow::Type::DOUBLE: return append_numbers<arrow::DoubleType>(array);
    case arrow::Type::STRING:
      return [&texts = static_cast<const arrow::StringArray&>(array)](
                 int64_t row, std::string& text) { append_text(texts.GetView(row), text); };
    default: return arrow::Status::NotImplemented("no text for ", array.type()->ToString());
  }
}

}  // namespace

void append_csv_header(const arrow::Schema& schema, std::string& text) {
  for (int i = 0; i < schema.num_fields(); ++i) {
    if (i > 0) text.push_back(',');
    append_text(schema.field(i)->name(), text);
  }
  text.push_back('\n');
}

arrow::Status append_csv_rows(const arrow::RecordBatch& rows, std::string& text) {
  const std::vector<std::shared_ptr<arrow::Array>> columns = rows.columns();
  std::vector<AppendCell> cells;
  for (const auto& column : columns) {
    ARROW_ASSIGN_OR_RAISE(cells.emplace_back(), append_cells(*column));
  }
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text.push_back(',');
      if (columns[i]->IsValid(row)) cells[i](row, text);
    }
    text.push_back('\n');
  }
  return arrow::Status::OK();
}

}  // namespace millrace
