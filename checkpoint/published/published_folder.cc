#include "checkpoint/published/published_folder.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"

namespace millrace {
namespace {

namespace json_util = google::protobuf::util;

template <typename Message>
absl::StatusOr<Message> read_message(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_file(files, path));
  json_util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  Message message;
  const auto parsed = json_util::JsonStringToMessage(text, &message, options);
  if (!parsed.ok()) {
    return absl::DataLossError(absl::StrCat(path, ": ", std::string(parsed.message())));
  }
  if (message.format_version() > kPublishedFormatVersion) {
    return absl::UnimplementedError(absl::StrCat(path, " has format version ",
                                                 message.format_version(), "; this program knows ",
                                                 kPublishedFormatVersion));
  }
  if (message.format_version() < 1) {
    return absl::DataLossError(absl::StrCat(path, " has no format version"));
  }
  return message;
}

template <typename Message>
absl::Status write_message(FileSystem& files, const std::string& path, Message message) {
  message.set_format_version(kPublishedFormatVersion);
  json_util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto printed = json_util::MessageToJsonString(message, &text, options);
  if (!printed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::string(printed.message())));
  }
  return write_file_atomically(files, path, text);
}

absl::Status no_version(const std::string& folder, int64_t step, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(join_path(folder, checkpoint_name(step)), " cannot be served: ", why,
                   "; `millrace publish list` shows the versions"));
}

}  // namespace

bool is_published_folder(FileSystem& files, const std::string& folder) {
  return files.info(join_path(folder, kVersionsName)).ok();
}

absl::StatusOr<PublishedVersions> read_versions(FileSystem& files, const std::string& folder) {
  return read_message<PublishedVersions>(files, join_path(folder, kVersionsName));
}

absl::Status write_versions(FileSystem& files, const std::string& folder,
                            PublishedVersions versions) {
  return write_message(files, join_path(folder, kVersionsName), std::move(versions));
}

absl::StatusOr<std::optional<PinnedVersion>> read_pinned(FileSystem& files,
                                                         const std::string& folder) {
  absl::StatusOr<PinnedVersion> pinned =
      read_message<PinnedVersion>(files, join_path(folder, kPinnedName));
  if (absl::IsNotFound(pinned.status())) return std::nullopt;
  RETURN_IF_ERROR(pinned.status());
  return *std::move(pinned);
}

const PublishedVersions::Version* find_version(const PublishedVersions& versions, int64_t step) {
  for (int i = versions.versions_size() - 1; i >= 0; --i) {
    if (versions.versions(i).step() == step) return &versions.versions(i);
  }
  return nullptr;
}

absl::StatusOr<std::optional<ServedVersion>> served_version(FileSystem& files,
                                                            const std::string& folder) {
  ASSIGN_OR_RETURN(const PublishedVersions versions, read_versions(files, folder));
  ASSIGN_OR_RETURN(const std::optional<PinnedVersion> pinned, read_pinned(files, folder));
  if (!pinned.has_value() && !versions.has_current_step()) return std::nullopt;
  ServedVersion served;
  served.is_pinned = pinned.has_value();
  served.step = served.is_pinned ? pinned->step() : versions.current_step();
  const PublishedVersions::Version* const version = find_version(versions, served.step);
  if (version == nullptr || version->state() != PublishedVersions::PUBLISHED) {
    return no_version(folder, served.step, "it is not published");
  }
  served.digest = version->digest();
  served.data_time = version->data_time();
  return served;
}

absl::StatusOr<int64_t> pin_version(FileSystem& files, const Clock& clock,
                                    const std::string& folder, std::optional<int64_t> step,
                                    const std::string& reason) {
  ASSIGN_OR_RETURN(const PublishedVersions versions, read_versions(files, folder));
  if (!step.has_value()) {
    ASSIGN_OR_RETURN(const std::optional<ServedVersion> served, served_version(files, folder));
    for (const PublishedVersions::Version& version : versions.versions()) {
      if (version.state() != PublishedVersions::PUBLISHED || !served.has_value()) continue;
      if (version.step() < served->step && version.step() > step.value_or(-1)) {
        step = version.step();
      }
    }
    if (!step.has_value()) {
      return absl::NotFoundError(
          absl::StrCat(folder, " has no version before the one that is served"));
    }
  }
  const PublishedVersions::Version* const version = find_version(versions, *step);
  if (version == nullptr) {
    return absl::NotFoundError(absl::StrCat(folder, " has no version of step ", *step,
                                            "; `millrace publish list` shows the versions"));
  }
  if (version->state() == PublishedVersions::REFUSED) {
    return no_version(folder, *step, absl::StrCat("it was refused: ", version->reason()));
  }
  // The files may be gone before the list says so.
  const std::string manifest = join_path(join_path(folder, checkpoint_name(*step)), kManifestName);
  if (version->state() != PublishedVersions::PUBLISHED || !files.info(manifest).ok()) {
    return no_version(folder, *step, "its files were removed (keep_last)");
  }
  PinnedVersion pinned;
  pinned.set_step(*step);
  pinned.set_digest(version->digest());
  pinned.set_time(absl::FormatTime(absl::RFC3339_sec, clock.now(), absl::UTCTimeZone()));
  if (!reason.empty()) pinned.set_reason(reason);
  RETURN_IF_ERROR(write_message(files, join_path(folder, kPinnedName), std::move(pinned)));
  return *step;
}

absl::StatusOr<bool> unpin_version(FileSystem& files, const std::string& folder) {
  RETURN_IF_ERROR(read_versions(files, folder).status());
  const std::string path = join_path(folder, kPinnedName);
  if (absl::IsNotFound(files.info(path).status())) return false;
  RETURN_IF_ERROR(files.remove(path));
  return true;
}

absl::StatusOr<std::unique_ptr<PublishedFiles>> PublishedFiles::create(FileSystem& under,
                                                                       const std::string& folder) {
  ASSIGN_OR_RETURN(const PublishedVersions versions, read_versions(under, folder));
  std::map<std::string, std::string> copies;
  for (const PublishedVersions::File& file : versions.files()) {
    copies[file.path()] = join_path(join_path(folder, kFilesFolder), file.copy());
  }
  return std::unique_ptr<PublishedFiles>(new PublishedFiles(under, std::move(copies)));
}

const std::string& PublishedFiles::copy_of(const std::string& path) const {
  const auto found = copies_.find(absolute_path(path));
  return found == copies_.end() ? path : found->second;
}

absl::StatusOr<std::unique_ptr<ReadableFile>> PublishedFiles::open(const std::string& path) {
  return under_.open(copy_of(path));
}

absl::StatusOr<FileInfo> PublishedFiles::info(const std::string& path) {
  return under_.info(copy_of(path));
}

absl::StatusOr<FileInfo> PublishedFiles::link_info(const std::string& path) {
  return under_.link_info(copy_of(path));
}

}  // namespace millrace
