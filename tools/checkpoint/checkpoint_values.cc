#include "tools/checkpoint/checkpoint_values.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "checkpoint/inspect/tensor_values.h"
#include "io/feature/text_ids.h"
#include "proto/config.pb.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& json) { return json.dump() + "\n"; }

// Returns a number, integers as integers, since not all 64-bit integers are doubles.
// `named`: numbers that JSON lacks become "NaN", "Infinity" and "-Infinity".
Json number_json(TensorType type, absl::string_view bytes, bool named = true) {
  int64_t integer = 0;
  switch (type) {
    case TensorType::kBool: return bytes[0] != 0;
    case TensorType::kU64:
    case TensorType::kI64:
      std::memcpy(&integer, bytes.data(), sizeof(integer));
      return type == TensorType::kI64 ? Json(integer) : Json(static_cast<uint64_t>(integer));
    case TensorType::kF16:
    case TensorType::kBf16:
    case TensorType::kF32:
    case TensorType::kF64: {
      const double value = tensor_value(type, bytes);
      if (named && std::isnan(value)) return "NaN";
      if (named && std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
      return type == TensorType::kF64 ? Json(value) : Json(static_cast<float>(value));
    }
    default: return static_cast<int64_t>(tensor_value(type, bytes));
  }
}

Json list_json(TensorType type, absl::string_view bytes, bool named = true) {
  Json list = Json::array();
  for (const int64_t size = tensor_type_bytes(type); !bytes.empty(); bytes.remove_prefix(size)) {
    list.push_back(number_json(type, bytes.substr(0, size), named));
  }
  return list;
}

// Returns numbers separated by spaces, with enough digits to distinguish them.
std::string list_text(TensorType type, absl::string_view bytes) {
  const int digits = type == TensorType::kF64 ? 17 : 9;
  const Json list = list_json(type, bytes, /*named=*/false);
  return absl::StrJoin(list, " ", [&](std::string* text, const Json& number) {
    if (number.is_number_float()) {
      absl::StrAppendFormat(text, "%.*g", digits, number.get<double>());
    } else {
      absl::StrAppend(text, number.dump());
    }
  });
}

// Rows of some ids with all columns.
struct FoundRows {
  std::vector<TableColumn> columns;
  RowBlock rows;
};

// Returns the features of the job, as far as the program knows their messages.
std::vector<FeatureConfig> features_of(const CheckpointManifest& manifest) {
  TrainConfig config;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownExtension(true);
  parser.AllowUnknownField(true);
  if (!parser.ParseFromString(manifest.config(), &config)) return {};
  return {config.feature().begin(), config.feature().end()};
}

// Returns "id 7", and the requested text.
std::string id_text(int64_t id, const AskedRows& asked) {
  for (const auto& [text, of] : asked.texts) {
    if (of == id) return absl::StrCat("id ", id, " (\"", text, "\")");
  }
  return absl::StrCat("id ", id);
}

absl::StatusOr<FoundRows> find_rows(const CheckpointContent& content, const std::string& table,
                                    absl::Span<const int64_t> ids) {
  FoundRows found;
  found.columns = table_columns(content.manifest(), table);
  std::vector<std::string> names;
  for (const TableColumn& column : found.columns) names.push_back(column.name);
  ASSIGN_OR_RETURN(found.rows, content.read_rows(table, names, ids));
  return found;
}

std::vector<int64_t> missing_ids(const RowBlock& rows, absl::Span<const int64_t> ids) {
  const std::set<int64_t> there(rows.ids.begin(), rows.ids.end());
  std::vector<int64_t> missing;
  for (const int64_t id : ids) {
    if (there.count(id) == 0) missing.push_back(id);
  }
  return missing;
}

}  // namespace

absl::StatusOr<std::string> tensor_text(const CheckpointContent& content, const std::string& name,
                                        int64_t max_lines) {
  ASSIGN_OR_RETURN(const TensorInfo info, content.find(name));
  ASSIGN_OR_RETURN(const std::string bytes, content.read(name));
  std::string text = absl::StrCat(name, " ", std::string(tensor_type_name(info.type)), " [",
                                  absl::StrJoin(info.shape, ", "), "]\n");
  const int64_t lines = info.shape.empty() ? 1 : info.shape[0];
  if (lines == 0) return text;
  const int64_t line_bytes = static_cast<int64_t>(bytes.size()) / lines;
  for (int64_t i = 0; i < std::min(lines, max_lines); ++i) {
    const auto line = absl::string_view(bytes).substr(i * line_bytes, line_bytes);
    absl::StrAppend(&text, list_text(info.type, line), "\n");
  }
  if (lines > max_lines) absl::StrAppend(&text, "and ", lines - max_lines, " more lines\n");
  return text;
}

absl::StatusOr<std::string> tensor_json(const CheckpointContent& content, const std::string& name) {
  ASSIGN_OR_RETURN(const TensorInfo info, content.find(name));
  ASSIGN_OR_RETURN(const std::string bytes, content.read(name));
  return line_of({{"name", name},
                  {"dtype", std::string(tensor_type_name(info.type))},
                  {"shape", info.shape},
                  {"values", list_json(info.type, bytes)}});
}

absl::StatusOr<AskedRows> asked_rows(const CheckpointManifest& manifest, const std::string& table,
                                     const std::vector<std::string>& words, bool text,
                                     FileSystem& files) {
  AskedRows asked;
  StringValues texts;
  for (const std::string& word : words) {
    int64_t id = 0;
    if (!text && absl::SimpleAtoi(word, &id)) {
      asked.ids.push_back(id);
    } else {
      texts.push_back(word);
    }
  }
  // Integers need no vocabulary, whose file this machine may lack.
  if (texts.size() == 0) return asked;
  ASSIGN_OR_RETURN(const std::optional<TextIds> text_ids,
                   TextIds::create(features_of(manifest), table, files));
  if (!text_ids.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--ids: \"", texts[0], "\" is no 64-bit id, and no feature of table ", table,
        " makes ids of text (transform hash, vocabulary or a registered one of text)"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::optional<int64_t>> found, text_ids->find(texts));
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].has_value()) {
      return absl::NotFoundError(absl::StrCat(
          "--ids: \"", texts[i], "\" is not in the vocabulary of feature ", text_ids->feature()));
    }
    asked.ids.push_back(*found[i]);
    asked.texts[std::string(texts[i])] = *found[i];
  }
  return asked;
}

absl::StatusOr<std::string> rows_text(const CheckpointContent& content, const std::string& table,
                                      const AskedRows& asked) {
  ASSIGN_OR_RETURN(const FoundRows found, find_rows(content, table, asked.ids));
  std::string text;
  for (int64_t row = 0; row < found.rows.rows(); ++row) {
    absl::StrAppend(&text, id_text(found.rows.ids[row], asked), "\n");
    for (size_t i = 0; i < found.columns.size(); ++i) {
      const TableColumn& column = found.columns[i];
      absl::StrAppend(&text, "  ", column.name, ": ",
                      list_text(column.type, found.rows.row(i, row, column.row_bytes())), "\n");
    }
  }
  for (const int64_t id : missing_ids(found.rows, asked.ids)) {
    absl::StrAppend(&text, id_text(id, asked), " has no row\n");
  }
  return text;
}

absl::StatusOr<std::string> rows_json(const CheckpointContent& content, const std::string& table,
                                      const AskedRows& asked) {
  ASSIGN_OR_RETURN(const FoundRows found, find_rows(content, table, asked.ids));
  Json rows = Json::array();
  for (int64_t row = 0; row < found.rows.rows(); ++row) {
    Json entry = {{"id", found.rows.ids[row]}};
    for (size_t i = 0; i < found.columns.size(); ++i) {
      const TableColumn& column = found.columns[i];
      const auto bytes = found.rows.row(i, row, column.row_bytes());
      entry[column.name] =
          column.is_matrix ? list_json(column.type, bytes) : number_json(column.type, bytes);
    }
    rows.push_back(std::move(entry));
  }
  Json all = {
      {"table", table}, {"rows", std::move(rows)}, {"missing", missing_ids(found.rows, asked.ids)}};
  if (!asked.texts.empty()) all["ids"] = asked.texts;
  return line_of(all);
}

}  // namespace millrace
