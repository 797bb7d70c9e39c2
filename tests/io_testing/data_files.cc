#include "tests/io_testing/data_files.h"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/checksum/crc32c.h"
#include "base/file_system.h"
#include "base/random/philox.h"
#include "proto/tf_example.pb.h"

namespace millrace {
namespace {

template <typename T>
auto make_value_builder() {
  if constexpr (std::is_same_v<T, int64_t>) {
    return std::make_shared<arrow::Int64Builder>();
  } else if constexpr (std::is_same_v<T, double>) {
    return std::make_shared<arrow::DoubleBuilder>();
  } else {
    return std::make_shared<arrow::StringBuilder>();
  }
}

template <typename T>
arrow::Result<std::shared_ptr<arrow::Array>> make_array(const TestColumn::Rows<T>& rows,
                                                        bool is_list) {
  auto values = make_value_builder<T>();
  if (!is_list) {
    for (const auto& row : rows) {
      ARROW_RETURN_NOT_OK(row.empty() ? values->AppendNull() : values->Append(row[0]));
    }
    return values->Finish();
  }
  arrow::ListBuilder lists(arrow::default_memory_pool(), values);
  for (const auto& row : rows) {
    ARROW_RETURN_NOT_OK(lists.Append());
    for (const T& value : row) ARROW_RETURN_NOT_OK(values->Append(value));
  }
  return lists.Finish();
}

arrow::Result<std::shared_ptr<arrow::Table>> make_arrow_table(const TestTable& table) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const TestColumn& column : table.columns) {
    auto make = [&column](const auto& rows) { return make_array(rows, column.is_list); };
    ARROW_ASSIGN_OR_RAISE(auto array, std::visit(make, column.rows));
    if (!column.time_unit.empty()) {
      const auto unit = column.time_unit == "s"    ? arrow::TimeUnit::SECOND
                        : column.time_unit == "ms" ? arrow::TimeUnit::MILLI
                        : column.time_unit == "us" ? arrow::TimeUnit::MICRO
                                                   : arrow::TimeUnit::NANO;
      ARROW_ASSIGN_OR_RAISE(array, array->View(arrow::timestamp(unit, column.zone)));
    }
    arrays.push_back(array);
    fields.push_back(arrow::field(column.name, array->type()));
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

arrow::Status write_arrow(const TestTable& table, DataConfig::Format format, int64_t group_rows,
                          const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(const auto data, make_arrow_table(table));
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::FileOutputStream::Open(path));
  const int64_t step = group_rows > 0 ? group_rows : std::max<int64_t>(1, data->num_rows());
  if (format == DataConfig::PARQUET) {
    ARROW_RETURN_NOT_OK(
        parquet::arrow::WriteTable(*data, arrow::default_memory_pool(), file, step));
    return file->Close();
  }
  arrow::adapters::orc::WriteOptions options;
  options.batch_size = step;
  options.stripe_size = group_rows > 0 ? 1 : 64 << 20;  // 1: a stripe after each write
  ARROW_ASSIGN_OR_RAISE(const auto writer,
                        arrow::adapters::orc::ORCFileWriter::Open(file.get(), options));
  for (int64_t begin = 0; begin == 0 || begin < data->num_rows(); begin += step) {
    ARROW_RETURN_NOT_OK(writer->Write(*data->Slice(begin, step)));
  }
  ARROW_RETURN_NOT_OK(writer->Close());
  return file->Close();
}

// Returns numbers in the shortest form that reads back as the same number.
std::string csv_value(double value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}
std::string csv_value(int64_t value) { return absl::StrCat(value); }
std::string csv_value(const std::string& value) { return value; }

std::string csv_cell(const TestColumn& column, int64_t row) {
  const std::string cell = std::visit(
      [row](const auto& rows) {
        return absl::StrJoin(rows[row], "|",
                             [](std::string* out, const auto& value) { *out += csv_value(value); });
      },
      column.rows);
  if (cell.find_first_of("\",\r\n") == std::string::npos) return cell;
  return absl::StrCat("\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
}

absl::Status write_csv(const TestTable& table, const std::string& path) {
  std::string text = absl::StrJoin(table.columns, ",", [](std::string* out, const auto& column) {
    absl::StrAppend(out, column.name);
  });
  for (int64_t row = 0; row < table.rows(); ++row) {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      absl::StrAppend(&text, c == 0 ? "\n" : ",", csv_cell(table.columns[c], row));
    }
  }
  text += "\n";
  return write_file_atomically(FileSystem::local(), path, text);
}

void add_values(const std::vector<int64_t>& values, TfFeature* feature) {
  for (const int64_t value : values) feature->mutable_int64_list()->add_value(value);
}
void add_values(const std::vector<double>& values, TfFeature* feature) {
  for (const double value : values) {
    feature->mutable_float_list()->add_value(static_cast<float>(value));
  }
}
void add_values(const std::vector<std::string>& values, TfFeature* feature) {
  for (const std::string& value : values) feature->mutable_bytes_list()->add_value(value);
}

absl::Status write_tfrecord(const TestTable& table, const std::string& path) {
  std::string bytes;
  for (int64_t row = 0; row < table.rows(); ++row) {
    TfExample example;
    for (const TestColumn& column : table.columns) {
      std::visit(
          [&](const auto& rows) {
            if (rows[row].empty()) return;
            add_values(rows[row], &(*example.mutable_features()->mutable_feature())[column.name]);
          },
          column.rows);
    }
    bytes += tfrecord(example.SerializeAsString());
  }
  if (absl::EndsWith(path, ".gz")) bytes = gzip(bytes);
  return write_file_atomically(FileSystem::local(), path, bytes);
}

std::string libsvm_pair(int64_t value) { return absl::StrCat(value, ":1"); }
std::string libsvm_pair(double value) { return absl::StrCat("0:", csv_value(value)); }
std::string libsvm_pair(const std::string& value) { return value; }  // bad

absl::Status write_libsvm(const TestTable& table, const std::string& path) {
  std::string text;
  for (int64_t row = 0; row < table.rows(); ++row) {
    absl::StrAppend(&text, csv_cell(table.columns[0], row));
    for (size_t c = 1; c < table.columns.size(); ++c) {
      std::visit(
          [&](const auto& rows) {
            for (const auto& value : rows[row]) {
              absl::StrAppend(&text, " ", c - 1, ":", libsvm_pair(value));
            }
          },
          table.columns[c].rows);
    }
    text += "\n";
  }
  return write_file_atomically(FileSystem::local(), path, text);
}

void append_little_endian(uint64_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

int64_t TestTable::rows() const {
  if (columns.empty()) return 0;
  return std::visit([](const auto& rows) { return static_cast<int64_t>(rows.size()); },
                    columns[0].rows);
}

std::string tfrecord(absl::string_view bytes) {
  std::string record;
  append_little_endian(bytes.size(), 8, &record);
  append_little_endian(masked_crc32c(record), 4, &record);
  record.append(bytes.data(), bytes.size());
  append_little_endian(masked_crc32c(bytes), 4, &record);
  return record;
}

std::string gzip(absl::string_view bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TestTable mixed_table(int64_t rows) {
  TestColumn::Rows<int64_t> plain(rows), list(rows);
  TestColumn::Rows<double> number(rows), numbers(rows);
  TestColumn::Rows<std::string> text(rows), texts(rows);
  for (int64_t row = 0; row < rows; ++row) {
    plain[row] = {row * 1000003 - 7};
    for (int64_t k = 0; k < row % 4; ++k) list[row].push_back(row * 10 + k);
    if (row % 5 != 0) number[row] = {static_cast<double>(row) / 8};
    if (row % 3 == 0) numbers[row] = {0.5, -1.5};
    if (row % 7 != 2) text[row] = {absl::StrCat("text ", row)};
    for (int64_t k = 0; k < row % 3; ++k) texts[row].push_back(absl::StrCat("t", row, "x", k));
  }
  return {{{"plain", plain, false},
           {"list", list, true},
           {"number", number, false},
           {"numbers", numbers, true},
           {"text", text, false},
           {"texts", texts, true}}};
}

std::string text_of_row(const TestColumn& column, int64_t row) {
  std::string text;
  std::visit(
      [&](const auto& rows) {
        for (const auto& value : rows[row]) absl::StrAppend(&text, value, ";");
      },
      column.rows);
  return text;
}

absl::Status write_data_file(const TestTable& table, DataConfig::Format format, int64_t group_rows,
                             const std::string& path) {
  if (format == DataConfig::CSV) return write_csv(table, path);
  if (format == DataConfig::TFRECORD) return write_tfrecord(table, path);
  if (format == DataConfig::LIBSVM) return write_libsvm(table, path);
  const arrow::Status status = write_arrow(table, format, group_rows, path);
  return status.ok() ? absl::OkStatus() : absl::InternalError(status.ToString());
}

absl::string_view extension_of(DataConfig::Format format) {
  switch (format) {
    case DataConfig::ORC: return ".orc";
    case DataConfig::PARQUET: return ".parquet";
    case DataConfig::TFRECORD: return ".tfrecord";
    case DataConfig::LIBSVM: return ".libsvm";
    default: return ".csv";
  }
}

TestTable criteo_like_table(int64_t rows, int dense, int sparse, int64_t first_row) {
  TestTable table;
  auto number = [&](uint64_t column, int64_t row) { return philox64(7, column, first_row + row); };
  TestColumn::Rows<double> labels(rows);
  TestColumn::Rows<int64_t> row_numbers(rows);
  for (int64_t row = 0; row < rows; ++row) {
    labels[row] = {number(0, row) % 4 == 0 ? 1.0 : 0.0};
    row_numbers[row] = {first_row + row};
  }
  table.columns.push_back({"label", labels, true});
  table.columns.push_back({"row", row_numbers, false});
  for (int i = 1; i <= dense; ++i) {
    TestColumn::Rows<double> values(rows);
    for (int64_t row = 0; row < rows; ++row) {
      const uint64_t bits = number(100 + i, row);
      if (bits % 10 != 0) values[row] = {static_cast<double>(bits >> 32) / (1 << 24) - 32};
    }
    table.columns.push_back({absl::StrCat("i", i), values, i % 2 == 1});
  }
  for (int i = 1; i <= sparse; ++i) {
    TestColumn::Rows<int64_t> values(rows);
    for (int64_t row = 0; row < rows; ++row) {
      const uint64_t bits = number(200 + i, row);
      const int count = i % 3 == 0 ? bits % 4 : 1;
      for (int k = 0; k < count; ++k) values[row].push_back(philox64(8, bits, k) >> 1);
    }
    table.columns.push_back({absl::StrCat("c", i), values, true});
  }
  return table;
}

TrainConfig criteo_like_features(int dense, int sparse) {
  TrainConfig config;
  FeatureConfig* label = config.add_feature();
  label->set_name("label");
  label->set_kind(FeatureConfig::LABEL);
  for (int i = 1; i <= dense; ++i) {
    FeatureConfig* feature = config.add_feature();
    feature->set_name(absl::StrCat("i", i));
    feature->set_kind(FeatureConfig::DENSE);
    feature->set_default_value(0);
    feature->add_transform()->mutable_log1p();
  }
  for (int i = 1; i <= sparse; ++i) config.add_feature()->set_name(absl::StrCat("c", i));
  return config;
}

int damaged_files() {
  const char* const given = std::getenv("MILLRACE_DAMAGED_FILES");
  return given != nullptr ? std::atoi(given) : 100;
}

std::string fresh_test_dir() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat(info->test_suite_name(), ".", info->name());
  for (char& c : name) c = c == '/' ? '_' : c;
  const std::string dir = join_path(testing::TempDir(), name);
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir;
}

std::string real_data_dir() {
  const char* given = std::getenv("MILLRACE_DATA");
  if (given != nullptr && *given != '\0') return given;
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string dir = join_path(workspace != nullptr ? workspace : ".", "../shared/data");
  return std::filesystem::is_directory(dir) ? dir : "";
}

}  // namespace millrace
