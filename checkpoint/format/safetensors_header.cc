#include "checkpoint/format/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/lines/line_text.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace millrace {
namespace {

using nlohmann::json;

constexpr absl::string_view kMetadata = "__metadata__";

// Names and texts from files may contain any bytes; messages show them escaped.
std::string shown(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(text), "\"");
}

// Builds a header from the events of the JSON parser. Accepts only the nesting {name: {field:
// [..]}} and {"__metadata__": {key: text}}; every other event ends the parse.
class HeaderBuilder : public nlohmann::json_sax<json> {
 public:
  SafetensorsHeader header;
  absl::Status status;  // the first error

  bool start_object(size_t) override {
    if (place_ == Place::kStart) return enter(Place::kTop);
    if (place_ == Place::kName) {
      return enter(name_ == kMetadata ? Place::kMetadata : Place::kTensor);
    }
    return unexpected("an object");
  }

  bool key(std::string& key) override {
    switch (place_) {
      case Place::kTop: return start_entry(key);
      case Place::kMetadata:
        key_ = key;
        if (header.metadata.count(key) > 0) return fail("metadata key ", shown(key), " twice");
        return enter(Place::kMetadataValue);
      case Place::kTensor: return start_field(key);
      default: return unexpected("a key");
    }
  }

  bool end_object() override {
    switch (place_) {
      case Place::kTop: return enter(Place::kEnd);
      case Place::kMetadata: return enter(Place::kTop);
      case Place::kTensor: return end_tensor();
      default: return unexpected("the end of an object");
    }
  }

  bool start_array(size_t) override {
    if (!in_array_ && (place_ == Place::kShape || place_ == Place::kOffsets)) {
      numbers_.clear();
      in_array_ = true;
      return true;
    }
    return unexpected("a list");
  }

  bool end_array() override {
    in_array_ = false;
    if (place_ == Place::kShape) {
      tensor_.shape = numbers_;
    } else {
      if (numbers_.size() != 2) {
        return fail("tensor ", shown(name_), ": data_offsets has ", numbers_.size(), " numbers");
      }
      tensor_.begin = numbers_[0];
      tensor_.end = numbers_[1];
    }
    return enter(Place::kTensor);
  }

  bool number_unsigned(uint64_t value) override {
    if (!in_array_) return unexpected("a number");
    if (value > std::numeric_limits<int64_t>::max()) {
      return fail("tensor ", shown(name_), ": ", value, " is too large");
    }
    if (numbers_.size() >= kMaxTensorRank) {
      return fail("tensor ", shown(name_), ": more than ", kMaxTensorRank, " dimensions");
    }
    numbers_.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadataValue) {
      header.metadata.emplace(key_, value);
      return enter(Place::kMetadata);
    }
    if (place_ != Place::kType) return unexpected("a text");
    const std::optional<TensorType> type = tensor_type_of_name(value);
    if (!type) {
      return fail("tensor ", shown(name_), ": unknown dtype ", shown(value),
                  did_you_mean(value, tensor_type_names(), 20));
    }
    tensor_.type = *type;
    return enter(Place::kTensor);
  }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(int64_t) override { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) override { return unexpected("a fraction"); }
  bool binary(json::binary_t&) override { return unexpected("binary data"); }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail("not JSON at byte ", position);
  }

 private:
  enum class Place {
    kStart,
    kTop,            // between entries
    kName,           // after a tensor's name or "__metadata__"
    kMetadata,       // between its keys
    kMetadataValue,  // after a key
    kTensor,         // between a tensor's fields
    kType,           // after "dtype", "shape", "data_offsets"
    kShape,
    kOffsets,
    kEnd
  };

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  template <typename... Parts>
  bool fail(const Parts&... parts) {
    if (status.ok()) status = absl::DataLossError(absl::StrCat("header: ", parts...));
    return false;
  }

  bool unexpected(absl::string_view what) {
    if (name_.empty()) return fail(what, " where none may be");
    return fail(what, " where none may be, at ", shown(name_));
  }

  bool start_entry(const std::string& name) {
    if (!names_.insert(name).second) return fail("two entries named ", shown(name));
    name_ = name;
    if (name != kMetadata) {
      const absl::Status checked = check_tensor_name(name);
      if (!checked.ok()) return fail(checked.message());
    }
    tensor_ = TensorInfo();
    tensor_.name = name;
    fields_.clear();
    return enter(Place::kName);
  }

  bool start_field(const std::string& field) {
    static const char* const kFields[] = {"dtype", "shape", "data_offsets"};
    if (!fields_.insert(field).second) {
      return fail("tensor ", shown(name_), ": field ", shown(field), " twice");
    }
    if (field == kFields[0]) return enter(Place::kType);
    if (field == kFields[1]) return enter(Place::kShape);
    if (field == kFields[2]) return enter(Place::kOffsets);
    return fail("tensor ", shown(name_), ": unknown field ", shown(field));
  }

  bool end_tensor() {
    if (fields_.size() != 3) {
      return fail("tensor ", shown(name_), ": dtype, shape and data_offsets are needed");
    }
    header.tensors.push_back(std::move(tensor_));
    return enter(Place::kTop);
  }

  Place place_ = Place::kStart;
  bool in_array_ = false;
  std::string name_, key_;
  TensorInfo tensor_;
  std::vector<int64_t> numbers_;
  std::set<std::string> names_, fields_;
};

absl::Status tensor_error(const TensorInfo& tensor, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("header: tensor ", shown(tensor.name), ": ", what));
}

// Checks that tensors, by ascending place, fill the data without a gap.
absl::Status check_places(const std::vector<TensorInfo>& tensors, int64_t data_bytes) {
  int64_t end = 0;
  for (const TensorInfo& tensor : tensors) {
    const std::optional<int64_t> bytes = tensor_bytes(tensor.type, tensor.shape);
    if (!bytes) return tensor_error(tensor, "shape overflows");
    if (tensor.begin > tensor.end || tensor.size_bytes() != *bytes) {
      return tensor_error(
          tensor, absl::StrCat("data_offsets ", tensor.begin, " to ", tensor.end, " for ", *bytes,
                               " bytes of [", absl::StrJoin(tensor.shape, ", "), "] ",
                               tensor_type_name(tensor.type)));
    }
    if (tensor.begin != end) {
      return tensor_error(tensor, absl::StrCat("starts at ", tensor.begin, " where ", end,
                                               " is due: a gap or an overlap"));
    }
    end = tensor.end;
  }
  if (end == data_bytes) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("tensors take ", end, " bytes, but ", data_bytes, " bytes follow the header"));
}

}  // namespace

absl::Status check_tensor_name(absl::string_view name) {
  std::string quoted;
  absl::string_view wrong;
  if (name.empty())
    wrong = "is empty";
  else if (name == kMetadata)
    wrong = "is the format's own";
  else if (name.front() == '/')
    wrong = "starts with a slash";
  else if (absl::StrContains(name, ".."))
    wrong = "holds \"..\"";
  else if (name.find('\0') != absl::string_view::npos)
    wrong = "holds NUL";
  else if (!json_string(std::string(name), &quoted))
    wrong = "is not UTF-8";
  if (wrong.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("tensor name ", shown(name), " ", wrong));
}

absl::Status lay_out_tensors(std::vector<TensorInfo>* tensors) {
  auto order = [](const TensorInfo& a, const TensorInfo& b) {
    const int64_t a_bytes = tensor_type_bytes(a.type), b_bytes = tensor_type_bytes(b.type);
    return std::tie(b_bytes, a.name) < std::tie(a_bytes, b.name);
  };
  std::sort(tensors->begin(), tensors->end(), order);
  std::set<std::string> names;
  int64_t end = 0;
  for (TensorInfo& tensor : *tensors) {
    RETURN_IF_ERROR(check_tensor_name(tensor.name));
    auto error = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", shown(tensor.name), what));
    };
    if (!names.insert(tensor.name).second) return error(" comes twice");
    if (tensor.shape.size() > kMaxTensorRank) return error(" has more than 8 dimensions");
    const std::optional<int64_t> bytes = tensor_bytes(tensor.type, tensor.shape);
    tensor.begin = end;
    if (!bytes || __builtin_add_overflow(end, *bytes, &end)) return error(": shape overflows");
    tensor.end = end;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> format_safetensors_header(const SafetensorsHeader& header) {
  std::string text = "{";
  std::string key, value;
  for (const auto& [metadata_key, metadata_value] : header.metadata) {
    if (!json_string(metadata_key, &key) || !json_string(metadata_value, &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata ", shown(metadata_key), " is not UTF-8"));
    }
    absl::StrAppend(&text, text.size() == 1 ? "\"__metadata__\":{" : ",", key, ":", value);
  }
  if (!header.metadata.empty()) text += "}";
  for (const TensorInfo& tensor : header.tensors) {
    RETURN_IF_ERROR(check_tensor_name(tensor.name));
    json_string(tensor.name, &key);
    absl::StrAppend(&text, text.size() == 1 ? "" : ",", key, ":{\"dtype\":\"",
                    tensor_type_name(tensor.type), "\",\"shape\":[",
                    absl::StrJoin(tensor.shape, ","), "],\"data_offsets\":[", tensor.begin, ",",
                    tensor.end, "]}");
  }
  text += "}";
  // The format aligns tensors by a header whose size is a multiple of 8.
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() <= kMaxSafetensorsHeaderBytes) return text;
  return absl::InvalidArgumentError(
      absl::StrCat("the header has ", text.size(), " bytes; at most ", kMaxSafetensorsHeaderBytes));
}

absl::StatusOr<SafetensorsHeader> parse_safetensors_header(absl::string_view text,
                                                           int64_t data_bytes) {
  if (text.empty() || text[0] != '{') return absl::DataLossError("header does not start with {");
  // The JSON library treats NUL as the end of the text.
  if (text.find('\0') != absl::string_view::npos) return absl::DataLossError("header holds NUL");
  HeaderBuilder builder;
  const bool parsed = json::sax_parse(text.begin(), text.end(), &builder);
  RETURN_IF_ERROR(builder.status);
  if (!parsed) return absl::DataLossError("header is not JSON");
  std::vector<TensorInfo>& tensors = builder.header.tensors;
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  RETURN_IF_ERROR(check_places(tensors, data_bytes));
  return std::move(builder.header);
}

}  // namespace millrace
