#include "checkpoint/published/published_folder.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/format/checkpoint_names.h"

namespace millrace {
namespace {

namespace json_util = google::protobuf::util;

template <typename Message>
absl::StatusOr<Message> read_message(FileSystem& files, const std::string& path,
                                     absl::string_view remedy) {
  ASSIGN_OR_RETURN(const std::string text, read_file(files, path));
  json_util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  Message message;
  const auto parsed = json_util::JsonStringToMessage(text, &message, options);
  if (!parsed.ok()) {
    const std::string text_of_error(parsed.message());
    return absl::DataLossError(absl::StrCat(
        path, " is damaged (", text_of_error.substr(0, text_of_error.find('\n')), "); ", remedy));
  }
  if (message.format_version() > kPublishedFormatVersion) {
    return absl::UnimplementedError(absl::StrCat(path, " has format version ",
                                                 message.format_version(), "; this program knows ",
                                                 kPublishedFormatVersion));
  }
  if (message.format_version() < 1) {
    return absl::DataLossError(
        absl::StrCat(path, " is damaged (it has no format version); ", remedy));
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
  return read_message<PublishedVersions>(files, join_path(folder, kVersionsName),
                                         "restore it, or publish to another folder");
}

absl::Status write_versions(FileSystem& files, const std::string& folder,
                            PublishedVersions versions) {
  return write_message(files, join_path(folder, kVersionsName), std::move(versions));
}

absl::StatusOr<std::optional<PinnedVersion>> read_pinned(FileSystem& files,
                                                         const std::string& folder) {
  absl::StatusOr<PinnedVersion> pinned = read_message<PinnedVersion>(
      files, join_path(folder, kPinnedName), "`millrace publish resume` removes it");
  if (absl::IsNotFound(pinned.status())) return std::nullopt;
  RETURN_IF_ERROR(pinned.status());
  return *std::move(pinned);
}

const PublishedVersions::Version* find_version(const PublishedVersions& versions, int64_t step) {
  const PublishedVersions::Version* found = nullptr;
  for (const PublishedVersions::Version& version : versions.versions()) {
    if (version.step() != step) continue;
    if (version.state() == PublishedVersions::PUBLISHED) return &version;
    found = &version;
  }
  return found;
}

const PublishedVersions::Version* find_published(const PublishedVersions& versions, int64_t step) {
  const PublishedVersions::Version* const found = find_version(versions, step);
  const bool is_published = found != nullptr && found->state() == PublishedVersions::PUBLISHED;
  return is_published ? found : nullptr;
}

absl::StatusOr<std::optional<ServedVersion>> served_version(FileSystem& files,
                                                            const std::string& folder) {
  ASSIGN_OR_RETURN(const PublishedVersions versions, read_versions(files, folder));
  ASSIGN_OR_RETURN(const std::optional<PinnedVersion> pinned, read_pinned(files, folder));
  if (!pinned.has_value() && !versions.has_current_step()) return std::nullopt;
  ServedVersion served;
  served.step = pinned.has_value() ? pinned->step() : versions.current_step();
  const PublishedVersions::Version* const version = find_published(versions, served.step);
  if (version == nullptr) return no_version(folder, served.step, "it is not published");
  served.digest = version->digest();
  served.data_time = version->data_time();
  return served;
}

absl::StatusOr<int64_t> pin_version(FileSystem& files, const Clock& clock,
                                    const std::string& folder, std::optional<int64_t> step,
                                    const std::string& reason) {
  ASSIGN_OR_RETURN(const PublishedVersions versions, read_versions(files, folder));
  ASSIGN_OR_RETURN(const std::optional<PinnedVersion> before, read_pinned(files, folder));
  if (!step.has_value()) {
    const int64_t served = before.has_value() ? before->step() : versions.current_step();
    for (const PublishedVersions::Version& version : versions.versions()) {
      if (version.state() != PublishedVersions::PUBLISHED) continue;
      if (version.step() < served && version.step() > step.value_or(-1)) step = version.step();
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
  constexpr char kGone[] = "its files were removed (keep_last)";
  if (version->state() != PublishedVersions::PUBLISHED) return no_version(folder, *step, kGone);
  const auto chain = open_chain(files, join_path(folder, checkpoint_name(*step)));
  if (!chain.ok()) return no_version(folder, *step, chain.status().message());
  const std::string path = join_path(folder, kPinnedName);
  PinnedVersion pinned;
  pinned.set_step(*step);
  pinned.set_time(absl::FormatTime(absl::RFC3339_sec, clock.now(), absl::UTCTimeZone()));
  if (!reason.empty()) pinned.set_reason(reason);
  RETURN_IF_ERROR(write_message(files, path, std::move(pinned)));
  // The run may have removed the version before it could see the pin.
  ASSIGN_OR_RETURN(const PublishedVersions now, read_versions(files, folder));
  if (find_published(now, *step) != nullptr) return *step;
  if (before.has_value()) {
    RETURN_IF_ERROR(write_message(files, path, *before));
  } else {
    RETURN_IF_ERROR(files.remove(path));
  }
  return no_version(folder, *step, kGone);
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
    const std::string copy = join_path(join_path(folder, kFilesFolder), file.copy());
    copies[file.path()] = copy;
    for (const std::string& written : file.written()) copies[written] = copy;
  }
  return std::unique_ptr<PublishedFiles>(new PublishedFiles(under, std::move(copies)));
}

const std::string& PublishedFiles::copy_of(const std::string& path) const {
  auto found = copies_.find(path);
  if (found == copies_.end()) found = copies_.find(absolute_path(path));
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
