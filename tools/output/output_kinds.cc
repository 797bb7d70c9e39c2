#include "tools/output/output_kinds.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "io/file_reader.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxSummaryBytes = 16 << 20;
constexpr int64_t kLineBytes = 1 << 20;  // of a first line
constexpr int64_t kTailBytes = 1 << 20;  // with the names of the files in an archive

// Returns `count` bytes from `offset`, or fewer at the end; "" if the file cannot be read.
std::string read_piece(FileSystem& files, const std::string& path, int64_t offset, int64_t count) {
  const auto file = files.open(path);
  if (!file.ok()) return "";
  std::string piece(std::min(count, std::max<int64_t>(0, (*file)->size_bytes() - offset)), '\0');
  const auto read = (*file)->read_at(offset, static_cast<int64_t>(piece.size()), piece.data());
  piece.resize(read.value_or(0));
  return piece;
}

std::string first_line(FileSystem& files, const std::string& path) {
  const std::string piece = read_piece(files, path, 0, kLineBytes);
  return piece.substr(0, piece.find('\n'));
}

bool has_fields(const std::string& text, std::initializer_list<const char*> fields) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && std::all_of(fields.begin(), fields.end(),
                                         [&](const char* field) { return json.contains(field); });
}

bool is_summary(FileSystem& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.info(path);
  if (!info.ok() || info->size_bytes > kMaxSummaryBytes) return false;
  if (read_piece(files, path, 0, 1) != "{") return false;
  return has_fields(read_piece(files, path, 0, kMaxSummaryBytes),
                    {"outcome", "stop_reason", "error", "steps", "examples", "checkpoint"});
}

// See PredictionColumns.
bool are_prediction_columns(std::vector<std::string> names) {
  if (!names.empty() && names.front() == "set") names.erase(names.begin());
  return !names.empty() && names.front() == "example_id" &&
         std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return absl::EndsWith(name, "_prediction"); });
}

bool is_prediction_file(FileSystem& files, const std::string& path) {
  if (absl::EndsWith(path, ".csv")) {
    const std::string names =
        absl::StrReplaceAll(first_line(files, path), {{"\"", ""}, {"\r", ""}});
    return are_prediction_columns(absl::StrSplit(names, ','));
  }
  DataConfig config;
  config.set_format(DataConfig::PARQUET);
  const absl::StatusOr<std::unique_ptr<FileReader>> reader = open_file(files, path, config);
  if (!reader.ok()) return false;
  std::vector<std::string> names;
  for (const FileColumn& column : (*reader)->columns()) names.push_back(column.name);
  return are_prediction_columns(std::move(names));
}

bool is_script(FileSystem& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.info(path);
  if (!info.ok() || read_piece(files, path, 0, 4) != "PK\x03\x04") return false;
  const int64_t begin = std::max<int64_t>(0, info->size_bytes - kTailBytes);
  return absl::StrContains(read_piece(files, path, begin, kTailBytes), "extra/millrace.json");
}

bool are_measurements(FileSystem& files, const std::string& path) {
  return has_fields(first_line(files, path), {"name", "unit", "median", "best", "values"});
}

bool is_chart(FileSystem& files, const std::string& path) {
  const std::string begin = read_piece(files, path, 0, kLineBytes);
  return absl::StartsWith(begin, "<svg ") && absl::StrContains(begin, "<desc>Millrace</desc>");
}

}  // namespace

OutputKind summary_kind() { return {"a summary", is_summary}; }
OutputKind predictions_kind() { return {"a file of predictions", is_prediction_file}; }
OutputKind script_kind() { return {"an exported model", is_script}; }
OutputKind measurements_kind() { return {"a file of measurements", are_measurements}; }
OutputKind chart_kind() { return {"a chart", is_chart}; }

}  // namespace millrace
