#include "checkpoint/format/safetensors_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "checkpoint/format/safetensors_header.h"

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

namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

absl::Status write_content(const TensorInfo& info, const TensorSource& source, WritableFile& file) {
  int64_t left = info.size_bytes();
  const TensorSource::Append append = [&](absl::string_view bytes) -> absl::Status {
    left -= static_cast<int64_t>(bytes.size());
    if (left < 0) return absl::InternalError("more bytes than its shape has");
    return file.append(bytes);
  };
  RETURN_IF_ERROR(source.content(append));
  return left == 0 ? absl::OkStatus() : absl::InternalError("fewer bytes than its shape has");
}

}  // namespace

TensorSource tensor_from_memory(absl::string_view name, TensorType type, std::vector<int64_t> shape,
                                const void* data) {
  const int64_t bytes = tensor_bytes(type, shape).value_or(0);
  auto content = [data, bytes](const TensorSource::Append& append) {
    return append({static_cast<const char*>(data), static_cast<size_t>(bytes)});
  };
  return {std::string(name), type, std::move(shape), content};
}

absl::Status write_safetensors(FileSystem& files, const std::string& path,
                               const std::vector<TensorSource>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header;
  header.metadata = metadata;
  // lay_out_tensors() changes the order, so sources are found by name.
  std::map<std::string, const TensorSource*> sources;
  for (const TensorSource& tensor : tensors) {
    header.tensors.push_back({tensor.name, tensor.type, tensor.shape});
    sources[tensor.name] = &tensor;
  }
  RETURN_IF_ERROR(lay_out_tensors(&header.tensors), path);
  ASSIGN_OR_RETURN(const std::string text, format_safetensors_header(header), path);
  auto write = [&](WritableFile& file) -> absl::Status {
    const uint64_t length = text.size();
    char prefix[8];
    std::memcpy(prefix, &length, 8);
    RETURN_IF_ERROR(file.append({prefix, 8}));
    RETURN_IF_ERROR(file.append(text));
    for (const TensorInfo& info : header.tensors) {
      RETURN_IF_ERROR(write_content(info, *sources[info.name], file),
                      absl::StrCat(path, ", tensor \"", info.name, "\""));
    }
    return absl::OkStatus();
  };
  return write_file_atomically(files, path, write);
}

}  // namespace millrace
