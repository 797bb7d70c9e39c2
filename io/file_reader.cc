#include "io/file_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/parts/part_registry.h"
#include "base/path/rereadable.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// Formats by name, as `custom_format` names them. Those of DataConfig.format have fields.
PartRegistry<FileOpener>& registry() {
  static auto* const registry =
      new PartRegistry<FileOpener>("file format", "custom_format { name: \"NAME\" }");
  return *registry;
}

std::vector<FileFormat>& formats() {
  static auto* const formats = new std::vector<FileFormat>;
  return *formats;
}

// Lists formats also in a program that has none.
[[maybe_unused]] const PartFamily& kFamily = registry();

const FileFormat* find_by_format(DataConfig::Format format) {
  for (const FileFormat& known : formats()) {
    if (known.format == format) return &known;
  }
  return nullptr;
}

const FileFormat* find_by_extension(const std::string& path) {
  const std::string name = absl::AsciiStrToLower(path);
  for (const FileFormat& known : formats()) {
    for (const std::string& extension : known.extensions) {
      if (absl::EndsWith(name, extension)) return &known;
    }
  }
  return nullptr;
}

absl::Status unknown_format(const std::string& path, DataConfig::Format format) {
  if (format != DataConfig::AUTO) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", path, ": no reader for ", DataConfig::Format_Name(format),
                     " is linked in; add //io:file_formats to the dependencies of this program"));
  }
  std::vector<std::string> extensions;
  for (const FileFormat& known : formats()) {
    extensions.insert(extensions.end(), known.extensions.begin(), known.extensions.end());
  }
  std::sort(extensions.begin(), extensions.end());
  return absl::InvalidArgumentError(
      absl::StrCat("cannot tell the format of ", path, " by its extension (known: ",
                   absl::StrJoin(extensions, " "), "); set `format` in the data's configuration"));
}

}  // namespace

bool register_file_format(absl::string_view name, absl::string_view description, FileFormat format,
                          std::source_location place) {
  if (format.format != DataConfig::AUTO) {
    registry().add_field(name, absl::StrCat("format: ", DataConfig::Format_Name(format.format)),
                         [text = std::string(description)] { return text; });
  } else {
    registry().add(name, description, format.open, place);
  }
  formats().push_back(std::move(format));
  return true;
}

absl::StatusOr<std::unique_ptr<FileReader>> open_file(FileSystem& files, const std::string& path,
                                                      const DataConfig& config,
                                                      std::shared_ptr<const FileLayout> layout) {
  ASSIGN_OR_RETURN(const FileInfo info, files.info(path));
  if (info.is_directory) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is a directory; name the files in it, such as ", join_path(path, "*.orc")));
  }
  RETURN_IF_ERROR(check_rereadable(path, info));
  if (config.has_custom_format()) {
    return registry().create(config.custom_format().name(), files, path, config, std::move(layout));
  }
  const FileFormat* format = config.format() == DataConfig::AUTO ? find_by_extension(path)
                                                                 : find_by_format(config.format());
  if (format == nullptr) return unknown_format(path, config.format());
  return format->open(files, path, config, std::move(layout));
}

}  // namespace millrace
