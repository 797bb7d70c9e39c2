#include "checkpoint/format/safetensors_reader.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace millrace {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

std::string at(const ReadableFile& file, const TensorInfo& info) {
  return absl::StrCat(file.path(), ", tensor \"", info.name, "\"");
}

absl::Status read_fully(ReadableFile& file, int64_t offset, absl::Span<char> bytes) {
  ASSIGN_OR_RETURN(const int64_t count, file.read_at(offset, bytes.size(), bytes.data()));
  if (count == static_cast<int64_t>(bytes.size())) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the file ends at byte ", offset + count, "; ",
                                          bytes.size() - count, " more are due"));
}

absl::StatusOr<TensorFileLayout> read_layout(ReadableFile& file) {
  std::string start(kSafetensorsPrefixBytes, '\0');
  RETURN_IF_ERROR(read_fully(file, 0, absl::MakeSpan(start)));
  ASSIGN_OR_RETURN(const int64_t size, safetensors_start_bytes(start, file.size_bytes()));
  start.resize(size);
  RETURN_IF_ERROR(read_fully(file, kSafetensorsPrefixBytes,
                             absl::MakeSpan(start).subspan(kSafetensorsPrefixBytes)));
  return TensorFileLayout::parse(start, file.size_bytes());
}

}  // namespace

absl::StatusOr<std::unique_ptr<SafetensorsReader>> SafetensorsReader::open(
    FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  ASSIGN_OR_RETURN(TensorFileLayout layout, read_layout(*file), path);
  return std::unique_ptr<SafetensorsReader>(
      new SafetensorsReader(std::move(file), std::move(layout)));
}

absl::StatusOr<const TensorInfo*> SafetensorsReader::find(absl::string_view name) const {
  std::vector<std::string> names;
  for (const TensorInfo& info : tensors()) {
    if (info.name == name) return &info;
    names.push_back(info.name);
  }
  return absl::NotFoundError(
      absl::StrCat(path(), ": no tensor \"", name, "\"", did_you_mean(name, names)));
}

absl::Status SafetensorsReader::read_bytes(const TensorInfo& info, absl::Span<char> bytes) const {
  RETURN_IF_ERROR(read_fully(*file_, layout_.data_begin() + info.begin, bytes), at(*file_, info));
  auto is_boolean = [](char byte) { return byte == 0 || byte == 1; };
  if (info.type == TensorType::kBool && !std::all_of(bytes.begin(), bytes.end(), is_boolean)) {
    return absl::DataLossError(absl::StrCat(at(*file_, info), ": a boolean is neither 0 nor 1"));
  }
  return absl::OkStatus();
}

absl::Status SafetensorsReader::read(const TensorInfo& info, absl::Span<int64_t> values) const {
  return read_as(
      info, TensorType::kI64,
      absl::MakeSpan(reinterpret_cast<char*>(values.data()), values.size() * sizeof(int64_t)));
}

absl::Status SafetensorsReader::read(const TensorInfo& info, absl::Span<float> values) const {
  return read_as(
      info, TensorType::kF32,
      absl::MakeSpan(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float)));
}

absl::Status SafetensorsReader::read_as(const TensorInfo& info, TensorType type,
                                        absl::Span<char> bytes) const {
  if (info.type != type || info.size_bytes() != static_cast<int64_t>(bytes.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        at(*file_, info), " holds ", info.size_bytes(), " bytes of ", tensor_type_name(info.type),
        "; wanted are ", bytes.size(), " of ", tensor_type_name(type)));
  }
  return read_bytes(info, bytes);
}

}  // namespace millrace
