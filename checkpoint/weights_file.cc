#include "checkpoint/weights_file.h"

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "checkpoint/safetensors_reader.h"
#include "checkpoint/safetensors_writer.h"

namespace millrace {
namespace {

constexpr char kFormatKey[] = "millrace.format";
constexpr char kFormat[] = "weights 1";
constexpr char kProgressKey[] = "millrace.progress";
constexpr char kOurKeys[] = "millrace.";
constexpr char kTables[] = "table/";
constexpr int64_t kPieceBytes = 1 << 20;

// The counters of Progress that are written, by name.
struct Counter {
  const char* name;
  int64_t Progress::* field;
};
constexpr Counter kCounters[] = {
    {"step", &Progress::step},
    {"examples", &Progress::examples},
    {"epoch", &Progress::epoch},
    {"window", &Progress::window},
    {"skipped_steps", &Progress::skipped_steps},
    {"skipped_examples", &Progress::skipped_examples},
};

std::string ids_name(const EmbeddingTable& table) {
  return absl::StrCat(kTables, table.name(), "/ids");
}
std::string weights_name(const EmbeddingTable& table) {
  return absl::StrCat(kTables, table.name(), "/weights");
}

std::optional<TensorType> type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBool: return TensorType::kBool;
    case at::kByte: return TensorType::kU8;
    case at::kChar: return TensorType::kI8;
    case at::kShort: return TensorType::kI16;
    case at::kHalf: return TensorType::kF16;
    case at::kBFloat16: return TensorType::kBf16;
    case at::kInt: return TensorType::kI32;
    case at::kFloat: return TensorType::kF32;
    case at::kLong: return TensorType::kI64;
    case at::kDouble: return TensorType::kF64;
    default: return std::nullopt;
  }
}

absl::StatusOr<TensorType> checked_type(const NamedParameter& tensor) {
  if (!tensor.value.defined()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dense tensor \"", tensor.name, "\" is undefined"));
  }
  const std::optional<TensorType> type = type_of(tensor.value);
  if (absl::StartsWith(tensor.name, kTables)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dense tensor \"", tensor.name, "\": ", kTables, " is for tables"));
  }
  if (type) return *type;
  return absl::InvalidArgumentError(absl::StrCat(
      "dense tensor \"", tensor.name,
      "\": no such element type in safetensors: ", c10::toString(tensor.value.scalar_type())));
}

absl::StatusOr<TensorSource> dense_source(const NamedParameter& tensor) {
  ASSIGN_OR_RETURN(const TensorType type, checked_type(tensor));
  const at::Tensor values = tensor.value.detach().cpu().contiguous();
  auto content = [values](const TensorSource::Append& append) {
    return append({static_cast<const char*>(values.const_data_ptr()), values.nbytes()});
  };
  return TensorSource{tensor.name, type, values.sizes().vec(), content};
}

// Numbers on their way into a file, handed over in pieces.
template <typename T>
class Pieces {
 public:
  explicit Pieces(const TensorSource::Append& append) : append_(append) {}
  absl::Status add(absl::Span<const T> values) {
    buffer_.insert(buffer_.end(), values.begin(), values.end());
    return static_cast<int64_t>(buffer_.size() * sizeof(T)) < kPieceBytes ? absl::OkStatus()
                                                                          : flush();
  }
  absl::Status flush() {
    const absl::Status status =
        append_({reinterpret_cast<const char*>(buffer_.data()), buffer_.size() * sizeof(T)});
    buffer_.clear();
    return status;
  }

 private:
  const TensorSource::Append& append_;
  std::vector<T> buffer_;
};

// `rows` outlives the sources.
void add_table_sources(const EmbeddingTable& table, const std::vector<RowIndex>& rows,
                       std::vector<TensorSource>* sources) {
  const int64_t count = static_cast<int64_t>(rows.size());
  auto ids = [&](const TensorSource::Append& append) -> absl::Status {
    Pieces<int64_t> pieces(append);
    for (const RowIndex row : rows) {
      const int64_t id = table.store().id(row);
      RETURN_IF_ERROR(pieces.add({&id, 1}));
    }
    return pieces.flush();
  };
  auto weights = [&](const TensorSource::Append& append) -> absl::Status {
    Pieces<float> pieces(append);
    std::vector<float> numbers(table.dim());
    for (const RowIndex row : rows) {
      table.store().read_weights(row, absl::MakeSpan(numbers));
      RETURN_IF_ERROR(pieces.add(numbers));
    }
    return pieces.flush();
  };
  sources->push_back({ids_name(table), TensorType::kI64, {count}, ids});
  sources->push_back({weights_name(table), TensorType::kF32, {count, table.dim()}, weights});
}

absl::StatusOr<std::map<std::string, std::string>> metadata_of(const WeightsInfo& info) {
  std::map<std::string, std::string> metadata = info.metadata;
  for (const auto& [key, value] : metadata) {
    if (absl::StartsWith(key, kOurKeys)) {
      return absl::InvalidArgumentError(absl::StrCat("metadata key \"", key, "\" is reserved"));
    }
  }
  nlohmann::json progress;
  for (const Counter& counter : kCounters) progress[counter.name] = info.progress.*counter.field;
  metadata[kFormatKey] = kFormat;
  metadata[kProgressKey] = progress.dump();
  return metadata;
}

// The reverse of metadata_of.
absl::StatusOr<WeightsInfo> info_of(const SafetensorsReader& reader) {
  WeightsInfo info;
  info.metadata = reader.metadata();
  if (info.metadata[kFormatKey] != kFormat) {
    return absl::InvalidArgumentError(
        absl::StrCat(reader.path(), " is not a weights file: metadata \"", kFormatKey, "\" is \"",
                     info.metadata[kFormatKey], "\"; must be \"", kFormat, "\""));
  }
  const auto progress = nlohmann::json::parse(info.metadata[kProgressKey], nullptr, false);
  for (const Counter& counter : kCounters) {
    const auto found = progress.is_object() ? progress.find(counter.name) : progress.end();
    if (found == progress.end() || !found->is_number_unsigned()) {
      return absl::DataLossError(
          absl::StrCat(reader.path(), ": metadata \"", kProgressKey, "\" lacks ", counter.name));
    }
    info.progress.*counter.field = found->get<int64_t>();
  }
  info.metadata.erase(kFormatKey);
  info.metadata.erase(kProgressKey);
  return info;
}

std::string shape_text(TensorType type, absl::Span<const int64_t> shape) {
  return absl::StrCat(tensor_type_name(type), " [", absl::StrJoin(shape, ", "), "]");
}

absl::Status mismatch(const SafetensorsReader& reader, const TensorInfo& found,
                      const std::string& expected) {
  return absl::InvalidArgumentError(absl::StrCat(reader.path(), ": tensor \"", found.name, "\" is ",
                                                 shape_text(found.type, found.shape),
                                                 "; the model has ", expected));
}

// A tensor that is missing in the file is a difference between it and the model.
absl::StatusOr<const TensorInfo*> find(const SafetensorsReader& reader, const std::string& name) {
  const absl::StatusOr<const TensorInfo*> found = reader.find(name);
  if (found.ok()) return *found;
  return absl::InvalidArgumentError(found.status().message());
}

// What is read of one tensor or table before anything changes.
struct Staged {
  std::vector<std::vector<char>> dense;
  std::vector<TableRows> tables;
};

absl::Status check_no_others(const SafetensorsReader& reader,
                             const std::vector<NamedParameter>& dense,
                             absl::Span<EmbeddingTable* const> tables) {
  std::vector<std::string> known;
  for (const NamedParameter& tensor : dense) known.push_back(tensor.name);
  for (const EmbeddingTable* table : tables) {
    known.push_back(ids_name(*table));
    known.push_back(weights_name(*table));
  }
  const std::set<std::string> names(known.begin(), known.end());
  if (names.size() != known.size()) return absl::InvalidArgumentError("a name comes twice");
  for (const TensorInfo& info : reader.tensors()) {
    if (names.count(info.name) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(reader.path(), ": tensor \"", info.name,
                                                   "\" is not in the model",
                                                   did_you_mean(info.name, known)));
  }
  return absl::OkStatus();
}

// The info of a dense tensor, after comparing it with the model's.
absl::StatusOr<const TensorInfo*> find_dense(const SafetensorsReader& reader,
                                             const NamedParameter& tensor) {
  ASSIGN_OR_RETURN(const TensorType type, checked_type(tensor));
  ASSIGN_OR_RETURN(const TensorInfo* info, find(reader, tensor.name));
  const std::vector<int64_t> shape = tensor.value.sizes().vec();
  if (info->type == type && info->shape == shape) return info;
  return mismatch(reader, *info, shape_text(type, shape));
}

absl::Status check_table(const SafetensorsReader& reader, const EmbeddingTable& table) {
  if (table.has_tentative_rows()) {
    return absl::FailedPreconditionError(absl::StrCat("table ", table.name(), " is inside a step"));
  }
  ASSIGN_OR_RETURN(const TensorInfo* ids, find(reader, ids_name(table)));
  if (ids->type != TensorType::kI64 || ids->shape.size() != 1) {
    return mismatch(reader, *ids, shape_text(TensorType::kI64, {}) + " of one dimension");
  }
  ASSIGN_OR_RETURN(const TensorInfo* weights, find(reader, weights_name(table)));
  const std::vector<int64_t> shape = {ids->shape[0], table.dim()};
  if (weights->type == TensorType::kF32 && weights->shape == shape) return absl::OkStatus();
  return mismatch(reader, *weights, shape_text(TensorType::kF32, shape));
}

// Strictly ascending: so no id comes twice either.
absl::Status check_order(const SafetensorsReader& reader, const EmbeddingTable& table,
                         const std::vector<int64_t>& ids) {
  for (size_t i = 1; i < ids.size(); ++i) {
    if (placement_hash(ids[i - 1]) < placement_hash(ids[i])) continue;
    return absl::DataLossError(absl::StrCat(reader.path(), ", tensor \"", ids_name(table),
                                            "\": id ", ids[i], " at ", i,
                                            " is not in the order of placement_hash"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TableRows> read_table(const SafetensorsReader& reader, const EmbeddingTable& table) {
  ASSIGN_OR_RETURN(const TensorInfo* ids, find(reader, ids_name(table)));
  ASSIGN_OR_RETURN(const TensorInfo* weights, find(reader, weights_name(table)));
  TableRows rows;
  rows.dim = table.dim();
  rows.ids.resize(ids->shape[0]);
  rows.weights.resize(ids->shape[0] * table.dim());
  RETURN_IF_ERROR(reader.read(*ids, absl::MakeSpan(rows.ids)));
  RETURN_IF_ERROR(check_order(reader, table, rows.ids));
  RETURN_IF_ERROR(reader.read(*weights, absl::MakeSpan(rows.weights)));
  return rows;
}

absl::StatusOr<Staged> read_all(const SafetensorsReader& reader,
                                const std::vector<NamedParameter>& dense,
                                absl::Span<EmbeddingTable* const> tables) {
  // Everything is compared before the first byte of data is read.
  std::vector<const TensorInfo*> infos;
  for (const NamedParameter& tensor : dense) {
    ASSIGN_OR_RETURN(infos.emplace_back(), find_dense(reader, tensor));
  }
  for (const EmbeddingTable* table : tables) RETURN_IF_ERROR(check_table(reader, *table));
  RETURN_IF_ERROR(check_no_others(reader, dense, tables));
  Staged staged;
  for (const TensorInfo* info : infos) {
    staged.dense.emplace_back(info->size_bytes());
    RETURN_IF_ERROR(reader.read_bytes(*info, absl::MakeSpan(staged.dense.back())));
  }
  for (const EmbeddingTable* table : tables) {
    ASSIGN_OR_RETURN(staged.tables.emplace_back(), read_table(reader, *table));
  }
  return staged;
}

void set_values(const std::vector<char>& bytes, const at::Tensor& tensor) {
  // A contiguous tensor of the same shape takes the bytes; copy_ knows strides and devices.
  const at::Tensor values = tensor.detach().new_empty(tensor.sizes(), at::TensorOptions(at::kCPU));
  std::memcpy(values.mutable_data_ptr(), bytes.data(), bytes.size());
  tensor.detach().copy_(values);
}

}  // namespace

absl::Status save_weights(FileSystem& files, const std::string& path,
                          const std::vector<NamedParameter>& dense,
                          absl::Span<const EmbeddingTable* const> tables, const WeightsInfo& info) {
  std::vector<TensorSource> sources;
  for (const NamedParameter& tensor : dense) {
    ASSIGN_OR_RETURN(sources.emplace_back(), dense_source(tensor), path);
  }
  std::vector<std::vector<RowIndex>> rows;
  rows.reserve(tables.size());  // the sources refer to its elements
  for (const EmbeddingTable* table : tables) {
    if (table->has_tentative_rows()) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": table ", table->name(), " is inside a step"));
    }
    rows.push_back(table->rows_in_placement_order());
    add_table_sources(*table, rows.back(), &sources);
  }
  ASSIGN_OR_RETURN(const auto metadata, metadata_of(info), path);
  return write_safetensors(files, path, sources, metadata);
}

absl::StatusOr<WeightsInfo> load_weights(FileSystem& files, const std::string& path,
                                         const std::vector<NamedParameter>& dense,
                                         absl::Span<EmbeddingTable* const> tables) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsReader> reader,
                   SafetensorsReader::open(files, path));
  ASSIGN_OR_RETURN(WeightsInfo info, info_of(*reader));
  ASSIGN_OR_RETURN(const Staged staged, read_all(*reader, dense, tables));
  for (size_t i = 0; i < tables.size(); ++i) {
    tables[i]->reset();
    RETURN_IF_ERROR(tables[i]->load_rows(staged.tables[i]), path);
  }
  for (size_t i = 0; i < dense.size(); ++i) set_values(staged.dense[i], dense[i].value);
  return info;
}

}  // namespace millrace
