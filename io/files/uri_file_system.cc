#include "io/files/uri_file_system.h"

#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/s3fs.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <fnmatch.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/catch_exceptions.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "io/files/file_system_registry.h"
#include "io/format/arrow_file.h"

namespace millrace {
namespace {

namespace fs = arrow::fs;

constexpr absl::string_view kSchemeEnd = "://";

// scheme://authority/rest
struct Uri {
  std::string scheme;
  std::string authority;
  std::string rest;  // without slashes at its ends
};

Uri split_uri(const std::string& uri) {
  const size_t end = uri.find(kSchemeEnd.data());
  Uri parts;
  parts.scheme = uri.substr(0, end);
  absl::string_view rest = absl::string_view(uri).substr(end + kSchemeEnd.size());
  const size_t slash = rest.find('/');
  parts.authority = std::string(rest.substr(0, slash));
  if (slash == absl::string_view::npos) return parts;
  rest.remove_prefix(slash);
  while (absl::ConsumePrefix(&rest, "/")) {
  }
  while (absl::ConsumeSuffix(&rest, "/")) {
  }
  parts.rest = std::string(rest);
  return parts;
}

absl::Status from_arrow(const arrow::Status& status, absl::string_view doing,
                        const std::string& uri) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = absl::StrCat("cannot ", doing, " ", uri, ": ", arrow_message(status));
  if (status.IsInvalid() || status.IsNotImplemented()) return absl::InvalidArgumentError(message);
  return absl::UnavailableError(message);
}

// Arrow may throw, too.
template <typename Call>
absl::Status guarded(absl::string_view doing, const std::string& uri, const Call& call) {
  return catch_exceptions([&] { return from_arrow(call(), doing, uri); });
}

FileKind kind_of(const fs::FileInfo& info) {
  if (info.IsDirectory()) return FileKind::kDirectory;
  return info.IsFile() ? FileKind::kRegular : FileKind::kOther;
}

// Errors: NotFound too.
absl::StatusOr<fs::FileInfo> look_at(fs::FileSystem& files, const std::string& path,
                                     const std::string& uri) {
  fs::FileInfo found;
  RETURN_IF_ERROR(guarded("look at", uri, [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(found, files.GetFileInfo(path));
    return arrow::Status::OK();
  }));
  if (found.type() != fs::FileType::NotFound) return found;
  return absl::NotFoundError(absl::StrCat("cannot look at ", uri, ": it is not there"));
}

class UriFile : public ReadableFile {
 public:
  UriFile(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string uri, int64_t size)
      : file_(std::move(file)), uri_(std::move(uri)), size_(size) {}
  const std::string& path() const override { return uri_; }
  int64_t size_bytes() const override { return size_; }

  absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) override {
    // Beyond the end Arrow's files say different things.
    count = std::max<int64_t>(0, std::min(count, size_ - offset));
    int64_t done = 0;
    while (done < count) {
      int64_t read = 0;
      RETURN_IF_ERROR(guarded("read", uri_, [&]() -> arrow::Status {
        ARROW_ASSIGN_OR_RAISE(
            read, file_->ReadAt(offset + done, count - done, static_cast<char*>(buffer) + done));
        return arrow::Status::OK();
      }));
      if (read == 0) break;
      done += read;
    }
    return done;
  }

 private:
  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const std::string uri_;
  const int64_t size_;
};

absl::Status read_only(const std::string& uri) {
  return absl::PermissionDeniedError(
      absl::StrCat("cannot write ", uri, ": files behind URIs are only read; name a local path"));
}

// An object that is being uploaded.
class UriUpload : public WritableFile {
 public:
  UriUpload(std::shared_ptr<arrow::io::OutputStream> stream, std::string uri)
      : stream_(std::move(stream)), uri_(std::move(uri)) {}
  ~UriUpload() override {
    if (closed_) return;
    const arrow::Status aborted =
        stream_->Abort();  // closing would make an object of what there is
    if (!aborted.ok()) aborted.Warn();
  }
  absl::Status append(absl::string_view bytes) override {
    return guarded("write", uri_, [&] { return stream_->Write(bytes.data(), bytes.size()); });
  }
  absl::Status sync() override { return absl::OkStatus(); }  // an object is durable when it appears
  absl::Status close() override {
    RETURN_IF_ERROR(guarded("write", uri_, [&] { return stream_->Close(); }));
    closed_ = true;
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<arrow::io::OutputStream> stream_;
  const std::string uri_;
  bool closed_ = false;
};

std::vector<std::string> expand_braces(const std::string& pattern);

// `open`: the place of an opening brace; `ends`: the places of the commas and the closing brace.
std::vector<std::string> expand_choices(const std::string& pattern, size_t open,
                                        const std::vector<size_t>& ends) {
  std::vector<std::string> expanded;
  size_t begin = open + 1;
  for (const size_t end : ends) {
    const std::string choice =
        absl::StrCat(pattern.substr(0, open), pattern.substr(begin, end - begin),
                     pattern.substr(ends.back() + 1));
    for (std::string& more : expand_braces(choice)) expanded.push_back(std::move(more));
    begin = end + 1;
  }
  return expanded;
}

// Returns the patterns without braces that together match the same names, as in a shell. A
// character behind a backslash is not special, and neither is a brace without its other one.
std::vector<std::string> expand_braces(const std::string& pattern) {
  size_t open = 0;
  int depth = 0;
  std::vector<size_t> ends;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      ++at;
      continue;
    }
    if (c == '{' && ++depth == 1) open = at;
    if (depth == 1 && (c == ',' || c == '}')) ends.push_back(at);
    if (c == '}' && depth > 0 && --depth == 0) return expand_choices(pattern, open, ends);
  }
  return {pattern};
}

bool is_pattern(const std::string& name) {
  return name.find_first_of("*?[\\") != std::string::npos;
}

// Arrow requires shutdown of the S3 client before destruction of Arrow's objects, hence
// registration after their creation.
void finalize_s3_at_exit() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::atexit([] {
      const arrow::Status status = fs::EnsureS3Finalized();
      if (!status.ok()) status.Warn();
    });
  });
}

// The bucket with what the environment says of its service, which Arrow takes from URIs alone.
absl::StatusOr<std::string> s3_uri(const std::string& bucket) {
  const char* endpoint = std::getenv("AWS_ENDPOINT_URL_S3");
  if (endpoint == nullptr) endpoint = std::getenv("AWS_ENDPOINT_URL");
  if (endpoint == nullptr) return bucket;
  const std::string url = is_uri(endpoint) ? endpoint : absl::StrCat("https://", endpoint);
  const Uri service = split_uri(url);
  if (!service.rest.empty() || service.authority.find_first_of("@?&#") != std::string::npos) {
    return absl::InvalidArgumentError(
        "AWS_ENDPOINT_URL must have the form http://HOST:PORT or https://HOST:PORT, without a "
        "path, "
        "a user and a query");
  }
  return absl::StrCat(bucket, "?scheme=", service.scheme, "&endpoint_override=", service.authority);
}

// Repeats a request eight times, within 13 s; once, if another request was given up within the last
// 5 s, so that many requests to a service that is down do not add up. The strategies of Arrow wait
// for a minute or not at all.
class Retries : public fs::S3RetryStrategy {
 public:
  bool ShouldRetry(const AWSErrorDetail& error, int64_t retries) override {
    if (!error.should_retry) return false;
    const int64_t now = absl::ToInt64Milliseconds(Clock::real().elapsed());
    const bool is_down = now - given_up_ < 5000;
    if (retries < (is_down ? 1 : 8)) return true;
    given_up_ = now;
    return false;
  }
  int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail&, int64_t retries) override {
    return int64_t{50} << retries;  // milliseconds
  }

 private:
  std::atomic<int64_t> given_up_{-5000};  // when the last request was given up
};

arrow::Result<std::shared_ptr<fs::FileSystem>> make_s3(const std::string& uri) {
  ARROW_ASSIGN_OR_RAISE(fs::S3Options options, fs::S3Options::FromUri(uri));
  options.background_writes = false;  // parts that wait for the network would fill the memory
  options.allow_delayed_open = true;  // one request for a small object
  options.retry_strategy = std::make_shared<Retries>();
  return fs::S3FileSystem::Make(options);
}

absl::Status connect_by_arrow(const std::string& uri, std::shared_ptr<fs::FileSystem>* files) {
  const Uri parts = split_uri(uri.substr(0, uri.find('?')));
  const std::string root = absl::StrCat(parts.scheme, kSchemeEnd, parts.authority);
  return guarded("reach", root, [&]() -> arrow::Status {
    if (parts.scheme != "s3") return fs::FileSystemFromUri(uri).Value(files);
    ARROW_RETURN_NOT_OK(fs::EnsureS3Initialized());
    auto made = make_s3(uri);
    finalize_s3_at_exit();  // also if nobody answers
    ARROW_ASSIGN_OR_RAISE(*files, std::move(made));
    return arrow::Status::OK();
  });
}

// HDFS is reached through libraries that Arrow loads when they are needed. Returns: what is
// missing, instead of where the loader looked for it; other errors as they are.
absl::Status name_missing_library(const absl::Status& status, const std::string& root) {
  const bool no_hdfs = absl::StrContains(status.message(), "load libhdfs");
  if (!no_hdfs && !absl::StrContains(status.message(), "load libjvm")) return status;
  return absl::UnavailableError(absl::StrCat(
      "cannot reach ", root, ": this machine has no ",
      no_hdfs ? "libhdfs.so, which comes with Hadoop; install Hadoop and set HADOOP_HOME, or "
                "ARROW_LIBHDFS_DIR to the directory of the library, and JAVA_HOME to a Java runtime"
              : "libjvm.so, which comes with Java; install a Java runtime and set JAVA_HOME to its "
                "directory"));
}

// Returns the error of a URI that cannot be reached, with the schemes there are if Arrow does not
// know its own.
absl::Status name_schemes(const absl::Status& status, const std::string& scheme) {
  const bool is_known = file_system_registry().find(scheme) != nullptr;
  if (!absl::IsInvalidArgument(status) || is_known) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(status.message(), "; ", file_system_registry().check(scheme).message()));
}

}  // namespace

UriFileSystem::UriFileSystem(FileSystem& local) : UriFileSystem(local, connect_by_arrow) {}

UriFileSystem& UriFileSystem::process() {
  static UriFileSystem* files = new UriFileSystem(FileSystem::local());
  return *files;
}

absl::StatusOr<FileSystem*> UriFileSystem::other(const std::string& path) {
  if (!is_uri(path)) return &local_;
  const std::string scheme = split_uri(path).scheme;
  {
    MutexLock lock(mutex_);
    const auto found = registered_.find(scheme);
    if (found != registered_.end()) return found->second.get();
  }
  // Calls the factory without the lock, since it may use this object. The first result is kept.
  std::unique_ptr<FileSystem> made;
  const PartEntry* const part = file_system_registry().find(scheme);
  if (part != nullptr && !part->places.empty()) {  // from outside
    ASSIGN_OR_RETURN(made, file_system_registry().create(scheme));
  }
  MutexLock lock(mutex_);
  return registered_.emplace(scheme, std::move(made)).first->second.get();
}

absl::StatusOr<UriFileSystem::Place> UriFileSystem::place(const std::string& uri) {
  const Uri parts = split_uri(uri);
  const std::string root = absl::StrCat(parts.scheme, kSchemeEnd, parts.authority);
  // A bucket is the first name of a path; a host is none.
  const bool has_bucket = is_bucket(uri);
  if (has_bucket && parts.authority.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(uri, " names no bucket"));
  }
  RETURN_IF_ERROR(check_bucket(uri));
  Place place;
  place.path = has_bucket ? absl::StrCat(parts.authority, parts.rest.empty() ? "" : "/", parts.rest)
                          : absl::StrCat("/", parts.rest);
  Connection* connection = nullptr;
  {
    MutexLock lock(mutex_);
    std::unique_ptr<Connection>& entry = connections_[root];
    if (entry == nullptr) entry = std::make_unique<Connection>();
    connection = entry.get();
  }
  MutexLock lock(connection->mutex);
  if (connection->files == nullptr) {
    std::string service = has_bucket ? root : root + "/";
    if (parts.scheme == "s3") {
      ASSIGN_OR_RETURN(service, s3_uri(root));
    }
    RETURN_IF_ERROR(name_schemes(name_missing_library(connect_(service, &connection->files), root),
                                 parts.scheme));
  }
  place.files = connection->files;
  return place;
}

absl::StatusOr<FileInfo> UriFileSystem::info(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const others, other(path));
  if (others != nullptr) return others->info(path);
  ASSIGN_OR_RETURN(const Place at, place(path));
  ASSIGN_OR_RETURN(const fs::FileInfo found, look_at(*at.files, at.path, path));
  FileInfo info;
  info.kind = kind_of(found);
  info.is_directory = info.kind == FileKind::kDirectory;
  if (info.kind == FileKind::kRegular) info.size_bytes = std::max<int64_t>(0, found.size());
  return info;
}

absl::StatusOr<FileInfo> UriFileSystem::link_info(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const others, other(path));
  return others != nullptr ? others->link_info(path) : info(path);
}

absl::StatusOr<std::unique_ptr<ReadableFile>> UriFileSystem::open(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const others, other(path));
  if (others != nullptr) return others->open(path);
  ASSIGN_OR_RETURN(const Place at, place(path));
  ASSIGN_OR_RETURN(const fs::FileInfo found, look_at(*at.files, at.path, path));
  if (found.IsDirectory()) {
    return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": a directory"));
  }
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  int64_t size = 0;
  RETURN_IF_ERROR(guarded("open", path, [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(file, at.files->OpenInputFile(found));
    ARROW_ASSIGN_OR_RAISE(size, file->GetSize());
    return arrow::Status::OK();
  }));
  return std::make_unique<UriFile>(std::move(file), path, size);
}

absl::StatusOr<std::vector<DirectoryEntry>> UriFileSystem::list(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const others, other(path));
  if (others != nullptr) return others->list(path);
  ASSIGN_OR_RETURN(const Place at, place(path));
  std::vector<DirectoryEntry> entries;
  const absl::Status listed = guarded("list", path, [&]() -> arrow::Status {
    fs::FileSelector selector;
    selector.base_dir = at.path;
    ARROW_ASSIGN_OR_RAISE(const fs::FileInfoVector infos, at.files->GetFileInfo(selector));
    for (const fs::FileInfo& info : infos) entries.push_back({info.base_name(), kind_of(info)});
    return arrow::Status::OK();
  });
  if (!listed.ok()) {
    // Arrow's code does not say why.
    ASSIGN_OR_RETURN(const fs::FileInfo found, look_at(*at.files, at.path, path));
    if (found.IsDirectory()) return listed;
    return absl::FailedPreconditionError(absl::StrCat("cannot list ", path, ": no directory"));
  }
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return entries;
}

absl::Status UriFileSystem::match(const std::string& directory,
                                  const std::vector<std::string>& names, size_t at,
                                  std::vector<std::string>& found) {
  // Names that are no patterns need not be looked for one by one.
  std::string path = directory;
  for (; at < names.size() && !is_pattern(names[at]); ++at) path = join_path(path, names[at]);
  if (at == names.size()) {
    const absl::StatusOr<FileInfo> there = info(path);
    if (there.ok()) found.push_back(path);
    return absl::IsNotFound(there.status()) ? absl::OkStatus() : there.status();
  }
  const auto entries = list(path);
  if (absl::IsNotFound(entries.status()) || absl::IsFailedPrecondition(entries.status())) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(entries.status());
  for (const DirectoryEntry& entry : *entries) {
    if (::fnmatch(names[at].c_str(), entry.name.c_str(), FNM_PERIOD) != 0) continue;
    const std::string below = join_path(path, entry.name);
    if (at + 1 == names.size()) {
      found.push_back(below);
    } else if (entry.kind == FileKind::kDirectory) {
      RETURN_IF_ERROR(match(below, names, at + 1, found));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> UriFileSystem::glob(const std::string& pattern) {
  ASSIGN_OR_RETURN(FileSystem* const others, other(pattern));
  if (others != nullptr) return others->glob(pattern);
  std::vector<std::string> found;
  for (const std::string& expanded : expand_braces(pattern)) {
    const Uri parts = split_uri(expanded);
    const std::string root = absl::StrCat(parts.scheme, kSchemeEnd, parts.authority, "/");
    RETURN_IF_ERROR(match(root, absl::StrSplit(parts.rest, '/', absl::SkipEmpty()), 0, found));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

absl::StatusOr<std::unique_ptr<WritableFile>> UriFileSystem::create(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const others, other(path));
  if (others == &local_) return local_.create(path);
  if (others != nullptr || !is_bucket(path)) return read_only(path);
  ASSIGN_OR_RETURN(const Place at, place(path));
  std::shared_ptr<arrow::io::OutputStream> stream;
  RETURN_IF_ERROR(
      guarded("write", path, [&] { return at.files->OpenOutputStream(at.path).Value(&stream); }));
  return std::make_unique<UriUpload>(std::move(stream), path);
}

absl::StatusOr<std::unique_ptr<WritableFile>> UriFileSystem::open_for_append(
    const std::string& path) {
  if (is_uri(path)) return read_only(path);
  return local_.open_for_append(path);
}

absl::StatusOr<std::unique_ptr<PositionedFile>> UriFileSystem::create_new(const std::string& path,
                                                                          int64_t size_bytes) {
  if (is_uri(path)) return read_only(path);
  return local_.create_new(path, size_bytes);
}

absl::StatusOr<std::unique_ptr<WritableFile>> UriFileSystem::create_replacement(
    const std::string& path, const std::string& like) {
  if (is_uri(path)) return read_only(path);
  return local_.create_replacement(path, like);
}

absl::Status UriFileSystem::create_directories(const std::string& path) {
  return is_uri(path) ? read_only(path) : local_.create_directories(path);
}

absl::Status UriFileSystem::rename(const std::string& from, const std::string& to) {
  if (is_uri(from)) return read_only(from);
  return is_uri(to) ? read_only(to) : local_.rename(from, to);
}

absl::Status UriFileSystem::link(const std::string& from, const std::string& to) {
  if (is_uri(from)) return read_only(from);
  return is_uri(to) ? read_only(to) : link_file(local_, from, to);
}

absl::Status UriFileSystem::remove(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const others, other(path));
  if (others == &local_) return local_.remove(path);
  if (others != nullptr || !is_bucket(path)) return read_only(path);
  ASSIGN_OR_RETURN(const Place at, place(path));
  ASSIGN_OR_RETURN(const FileInfo found, info(path));
  if (!found.is_directory) {
    return guarded("remove", path, [&] { return at.files->DeleteFile(at.path); });
  }
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, list(path));
  if (!entries.empty()) {
    return absl::UnavailableError(absl::StrCat("cannot remove ", path, ": it is not empty"));
  }
  return guarded("remove", path, [&] { return at.files->DeleteDir(at.path); });
}

absl::Status UriFileSystem::sync_directory(const std::string& path) {
  return is_uri(path) ? read_only(path) : local_.sync_directory(path);
}

absl::StatusOr<int64_t> UriFileSystem::free_bytes(const std::string& path) {
  if (is_uri(path)) return read_only(path);
  return local_.free_bytes(path);
}

absl::StatusOr<std::unique_ptr<FileLock>> UriFileSystem::lock(const std::string& path) {
  if (is_uri(path)) return read_only(path);
  return local_.lock(path);
}

}  // namespace millrace
