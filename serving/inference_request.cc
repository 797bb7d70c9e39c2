#include "serving/inference_request.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "serving/served_model.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

constexpr char kLengths[] = "_lengths";

template <typename... Parts>
absl::Status wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// A type of the protocol: how its values are stored.
struct Datatype {
  const char* name;
  ValueType type;
  int bytes;  // of a value; 0: texts
  bool is_signed = true;
};
constexpr Datatype kDatatypes[] = {
    {"BOOL", ValueType::kInt64, 1, false},    {"INT8", ValueType::kInt64, 1},
    {"INT16", ValueType::kInt64, 2},          {"INT32", ValueType::kInt64, 4},
    {"INT64", ValueType::kInt64, 8},          {"UINT8", ValueType::kInt64, 1, false},
    {"UINT16", ValueType::kInt64, 2, false},  {"UINT32", ValueType::kInt64, 4, false},
    {"UINT64", ValueType::kUint64, 8, false}, {"FP32", ValueType::kDouble, 4},
    {"FP64", ValueType::kDouble, 8},          {"BYTES", ValueType::kString, 0}};

const Datatype* find_datatype(absl::string_view name) {
  for (const Datatype& type : kDatatypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

template <typename T>
T read_at(absl::string_view bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

int64_t read_integer(const Datatype& type, absl::string_view bytes, int64_t i) {
  switch (type.bytes) {
    case 1: return type.is_signed ? read_at<int8_t>(bytes, i) : read_at<uint8_t>(bytes, i);
    case 2: return type.is_signed ? read_at<int16_t>(bytes, i) : read_at<uint16_t>(bytes, i);
    case 4: return type.is_signed ? read_at<int32_t>(bytes, i) : read_at<uint32_t>(bytes, i);
    default: return read_at<int64_t>(bytes, i);
  }
}

absl::Status read_texts(const std::string& where, absl::string_view bytes, int64_t count,
                        Column* column) {
  for (int64_t i = 0; i < count; ++i) {
    if (bytes.size() < 4) return wrong(where, "the data ends within text ", i);
    const auto size = read_at<uint32_t>(bytes, 0);
    bytes.remove_prefix(4);
    if (bytes.size() < size) return wrong(where, "the data ends within text ", i);
    column->strings.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return bytes.empty() ? absl::OkStatus() : wrong(where, "the data has bytes after its last text");
}

absl::Status read_binary(const std::string& where, const Datatype& type, absl::string_view bytes,
                         int64_t count, Column* column) {
  if (type.bytes == 0) return read_texts(where, bytes, count, column);
  if (static_cast<int64_t>(bytes.size()) != count * type.bytes) {
    return wrong(where, "binary_data_size is ", bytes.size(), ", but the shape has ",
                 count * type.bytes, " bytes");
  }
  if (type.type == ValueType::kDouble) {
    column->doubles.resize(count);
    for (int64_t i = 0; i < count; ++i) {
      column->doubles[i] = type.bytes == 4 ? read_at<float>(bytes, i) : read_at<double>(bytes, i);
    }
  } else {
    column->int64s.resize(count);
    for (int64_t i = 0; i < count; ++i) column->int64s[i] = read_integer(type, bytes, i);
  }
  return absl::OkStatus();
}

absl::Status read_value(const std::string& where, const Datatype& type, const Json& value,
                        Column* column) {
  const auto mistyped = [&] {
    return wrong(where, "value ",
                 value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80),
                 " is no ", type.name);
  };
  switch (type.type) {
    case ValueType::kDouble:
      if (!value.is_number()) return mistyped();
      column->doubles.push_back(type.bytes == 4 ? value.get<float>() : value.get<double>());
      return absl::OkStatus();
    case ValueType::kString:
      if (!value.is_string()) return mistyped();
      column->strings.push_back(value.get_ref<const std::string&>());
      return absl::OkStatus();
    case ValueType::kUint64:
      if (!value.is_number_unsigned()) return mistyped();
      column->int64s.push_back(static_cast<int64_t>(value.get<uint64_t>()));
      return absl::OkStatus();
    default: break;
  }
  if (value.is_boolean()) {
    column->int64s.push_back(value.get<bool>() ? 1 : 0);
    return absl::OkStatus();
  }
  if (!value.is_number_integer()) return mistyped();
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return mistyped();
  }
  const auto number = value.get<int64_t>();
  if (type.bytes < 8) {
    const int bits = 8 * type.bytes - (type.is_signed ? 1 : 0);
    const int64_t limit = int64_t{1} << bits;
    if (number >= limit || number < (type.is_signed ? -limit : 0)) return mistyped();
  }
  column->int64s.push_back(number);
  return absl::OkStatus();
}

// Appends the values of a flat array, or of arrays as the shape has them.
absl::Status read_values(const std::string& where, const Datatype& type, const Json& data,
                         const Json& shape, size_t dimension, Column* column) {
  const bool nested = !data.empty() && data[0].is_array();
  if (nested && dimension + 1 == shape.size()) {
    return wrong(where, "data has more dimensions than the shape");
  }
  if ((nested || dimension > 0) && data.size() != shape[dimension].get<size_t>()) {
    return wrong(where, "an array of data has ", data.size(), " entries, but the shape ",
                 shape[dimension].dump());
  }
  for (const Json& value : data) {
    if (value.is_array() != nested) return wrong(where, "data mixes arrays and values");
    RETURN_IF_ERROR(nested ? read_values(where, type, value, shape, dimension + 1, column)
                           : read_value(where, type, value, column));
  }
  return absl::OkStatus();
}

int64_t count_values(const Column& column) {
  if (column.type == ValueType::kDouble) return static_cast<int64_t>(column.doubles.size());
  if (column.type == ValueType::kString) return column.strings.size();
  return static_cast<int64_t>(column.int64s.size());
}

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// An input as it came: `column` has rows × width values.
struct Input {
  Column column;
  int64_t rows = 0, width = 1;
};

// `binary`: the rest of the body, whose front this input may take.
absl::StatusOr<Input> read_input(const std::string& where, const Json& json,
                                 absl::string_view* binary) {
  Input input;
  const Json* const datatype = find(json, "datatype");
  const Datatype* const type = datatype != nullptr && datatype->is_string()
                                   ? find_datatype(datatype->get_ref<const std::string&>())
                                   : nullptr;
  if (type == nullptr) {
    return wrong(where,
                 "datatype must be BOOL, INT8 to INT64, UINT8 to UINT64, FP32, FP64 or BYTES");
  }
  const Json* const shape = find(json, "shape");
  const bool has_shape = shape != nullptr && shape->is_array() && !shape->empty() &&
                         shape->size() <= 2 &&
                         std::all_of(shape->begin(), shape->end(), [](const Json& n) {
                           return n.is_number_unsigned() && n.get<uint64_t>() < (1u << 30);
                         });
  if (has_shape) input.rows = (*shape)[0].get<int64_t>();
  if (has_shape && shape->size() == 2) input.width = (*shape)[1].get<int64_t>();
  // Each row has a value, so that the body bounds the rows.
  if (!has_shape || input.width == 0) {
    return wrong(where, "shape must be [rows] or [rows, values of a row], with a value at least");
  }
  const int64_t count = input.rows * input.width;
  input.column.type = type->type;
  if (type->bytes == 4 && type->type == ValueType::kDouble) {
    input.column.exact_integers = 1 << 24;
  }
  const Json* const parameters = find(json, "parameters");
  const Json* const size = parameters != nullptr && parameters->is_object()
                               ? find(*parameters, "binary_data_size")
                               : nullptr;
  const Json* const data = find(json, "data");
  if (size != nullptr && data != nullptr) return wrong(where, "it has data and binary data");
  if (size != nullptr) {
    if (!size->is_number_unsigned() || size->get<uint64_t>() > binary->size()) {
      return wrong(where, "binary_data_size is ", size->dump(), ", but the body has ",
                   binary->size(), " more bytes");
    }
    const auto bytes = size->get<uint64_t>();
    RETURN_IF_ERROR(read_binary(where, *type, binary->substr(0, bytes), count, &input.column));
    binary->remove_prefix(bytes);
  } else if (data != nullptr && data->is_array()) {
    RETURN_IF_ERROR(read_values(where, *type, *data, *shape, 0, &input.column));
  } else {
    return wrong(where, "it has neither data nor parameters.binary_data_size");
  }
  if (count_values(input.column) == count) return input;
  return wrong(where, "it has ", count_values(input.column), " values, but its shape ", count);
}

// Makes rows of one value, or of as many as the lengths say.
absl::Status make_rows(const std::string& where, Input input, const Input* lengths,
                       Column* column) {
  *column = std::move(input.column);
  column->rows = input.rows;
  if (lengths == nullptr) {
    if (input.width == 1) return absl::OkStatus();
    column->offsets.resize(input.rows + 1);
    for (int64_t row = 0; row <= input.rows; ++row) column->offsets[row] = row * input.width;
    return absl::OkStatus();
  }
  if (lengths->column.type != ValueType::kInt64 || lengths->width != 1) {
    return wrong(where, "its lengths must be integers of shape [rows]");
  }
  if (input.width != 1) return wrong(where, "a list with lengths has the shape [values]");
  return set_row_lengths(where, input.rows, lengths->column.int64s, column);
}

absl::Status read_inputs(const Json& json, absl::string_view binary, InferenceRequest* request) {
  const Json* const inputs = find(json, "inputs");
  if (inputs == nullptr || !inputs->is_array() || inputs->empty()) {
    return wrong("inputs: it must be a list of tensors");
  }
  std::map<std::string, Input> read;
  for (const Json& entry : *inputs) {
    const Json* const name = entry.is_object() ? find(entry, "name") : nullptr;
    if (name == nullptr || !name->is_string()) return wrong("inputs: a tensor has no name");
    const auto& text = name->get_ref<const std::string&>();
    const std::string where = absl::StrCat("input \"", text, "\": ");
    ASSIGN_OR_RETURN(Input input, read_input(where, entry, &binary));
    if (!read.emplace(text, std::move(input)).second) return wrong(where, "it is given twice");
  }
  if (!binary.empty()) return wrong("the body has ", binary.size(), " bytes after its last tensor");
  for (auto& [name, input] : read) {
    const std::string where = absl::StrCat("input \"", name, "\": ");
    absl::string_view of = name;
    if (absl::ConsumeSuffix(&of, kLengths) && read.count(std::string(of)) > 0) continue;
    const auto lengths = read.find(absl::StrCat(name, kLengths));
    Column column;
    RETURN_IF_ERROR(make_rows(where, std::move(input),
                              lengths == read.end() ? nullptr : &lengths->second, &column));
    if (request->columns.empty()) request->rows = column.rows;
    request->columns.emplace(name, std::move(column));
  }
  return absl::OkStatus();
}

absl::Status read_outputs(const Json& json, InferenceRequest* request) {
  const auto asks_binary = [](const Json& object, const char* key) {
    const Json* const parameters = find(object, "parameters");
    const Json* const value =
        parameters != nullptr && parameters->is_object() ? find(*parameters, key) : nullptr;
    return value != nullptr && value->is_boolean() && value->get<bool>();
  };
  request->binary_output = asks_binary(json, "binary_data_output");
  const Json* const outputs = find(json, "outputs");
  if (outputs == nullptr) return absl::OkStatus();
  if (!outputs->is_array()) return wrong("outputs: it must be a list");
  for (const Json& output : *outputs) {
    const Json* const name = output.is_object() ? find(output, "name") : nullptr;
    if (name == nullptr || *name != kPredictionsOutput) {
      return wrong("outputs: the model has one output, \"", kPredictionsOutput, "\"");
    }
    request->binary_output |= asks_binary(output, "binary_data");
  }
  return absl::OkStatus();
}

// nlohmann's parser recurses, so a text of brackets would exhaust the stack.
bool is_too_deep(absl::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (in_text && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      in_text = !in_text;
    else if (!in_text && (text[i] == '[' || text[i] == '{') && ++depth > 16)
      return true;
    else if (!in_text && (text[i] == ']' || text[i] == '}'))
      --depth;
  }
  return false;
}

}  // namespace

absl::StatusOr<InferenceRequest> parse_inference_request(absl::string_view body,
                                                         absl::string_view json_length) {
  size_t length = body.size();
  if (!json_length.empty() && (!absl::SimpleAtoi(json_length, &length) || length > body.size())) {
    return wrong(kJsonLengthField, " is ", json_length, ", but the body has ", body.size(),
                 " bytes");
  }
  const absl::string_view text = body.substr(0, length);
  if (is_too_deep(text)) return wrong("the JSON is nested too deeply");
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return wrong("the body is no JSON object");
  InferenceRequest request;
  const Json* const id = find(json, "id");
  if (id != nullptr) {
    if (!id->is_string()) return wrong("id: it must be a text");
    request.id = id->get<std::string>();
  }
  RETURN_IF_ERROR(read_outputs(json, &request));
  RETURN_IF_ERROR(read_inputs(json, body.substr(length), &request));
  return request;
}

InferenceReply format_inference_reply(const InferenceRequest& request, absl::string_view model,
                                      const Predictions& predictions) {
  Json output = {{"name", kPredictionsOutput},
                 {"datatype", "FP32"},
                 {"shape", {predictions.rows, predictions.tasks}}};
  std::string binary;
  if (request.binary_output) {
    binary.assign(reinterpret_cast<const char*>(predictions.values.data()),
                  predictions.values.size() * sizeof(float));
    output["parameters"] = {{"binary_data_size", binary.size()}};
  } else {
    output["data"] = predictions.values;
  }
  Json json = {{"model_name", std::string(model)},
               {"model_version", absl::StrCat(predictions.version->step)},
               {"outputs", Json::array({std::move(output)})}};
  if (!request.id.empty()) json["id"] = request.id;
  InferenceReply reply{json.dump(-1, ' ', false, Json::error_handler_t::replace)};
  if (!request.binary_output) return reply;
  reply.json_length = static_cast<int64_t>(reply.body.size());
  reply.body += binary;
  return reply;
}

}  // namespace millrace
