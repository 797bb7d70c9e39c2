#include "checkpoint/format/safetensors_writer.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/format/safetensors_header.h"

namespace millrace {
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
