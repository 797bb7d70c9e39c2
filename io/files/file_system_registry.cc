#include "io/files/file_system_registry.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

// Lists the schemes that are built in also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFileSystemFamily = file_system_registry();

PartRegistry<FileSystemFactory>* create_registry() {
  auto* const registry = new PartRegistry<FileSystemFactory>("file system", "NAME://PATH");
  const auto add = [&](const char* scheme, const char* path, const char* description) {
    registry->add_field(scheme, absl::StrCat(scheme, "://", path),
                        [description] { return std::string(description); });
  };
  add("file", "/PATH", "files of this machine");
  add("gcs", "BUCKET/KEY", "Google Cloud Storage");
  add("gs", "BUCKET/KEY", "Google Cloud Storage");
  add("hdfs", "HOST:PORT/PATH", "Hadoop's file system");
  add("s3", "BUCKET/KEY", "Amazon S3 and what speaks its protocol");
  add("viewfs", "NAME/PATH", "a view over Hadoop's file systems");
  return registry;
}

}  // namespace

PartRegistry<FileSystemFactory>& file_system_registry() {
  static auto* const registry = create_registry();
  return *registry;
}

}  // namespace millrace
