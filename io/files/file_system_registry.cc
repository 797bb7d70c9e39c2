#include "io/files/file_system_registry.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

std::vector<PartFamily::Field> built_in_schemes() {
  std::vector<PartFamily::Field> schemes;
  const auto add = [&](const char* scheme, const char* path, const char* description) {
    schemes.push_back({scheme, absl::StrCat(scheme, "://", path),
                       [description] { return std::string(description); }});
  };
  add("file", "/PATH", "files of this machine");
  add("gcs", "BUCKET/KEY", "Google Cloud Storage");
  add("gs", "BUCKET/KEY", "Google Cloud Storage");
  add("hdfs", "HOST:PORT/PATH", "Hadoop's file system");
  add("s3", "BUCKET/KEY", "Amazon S3 and what speaks its protocol");
  add("viewfs", "NAME/PATH", "a view over Hadoop's file systems");
  return schemes;
}

}  // namespace

MILLRACE_PART_FAMILY(file_system, PartRegistry<FileSystemFactory>, "file system", "NAME://PATH",
                     built_in_schemes());

}  // namespace millrace
