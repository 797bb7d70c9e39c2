// The millrace program with files that never arrive: stalled://rankN/PATH is the local file PATH,
// which rank N can list but not read.
#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/localfs.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/uri.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "tools/cli.h"
#include "tools/process_start.h"

namespace millrace {
namespace {

namespace fs = arrow::fs;

std::string own_rank() {
  const char* rank = std::getenv("RANK");
  return rank == nullptr ? "0" : rank;
}

// The main thread inspects files before training; other threads read data.
class StalledFiles : public fs::LocalFileSystem {
 public:
  explicit StalledFiles(bool stalls) : stalls_(stalls) {}
  std::string type_name() const override { return "stalled"; }
  using fs::FileSystem::OpenInputFile;
  arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenInputFile(
      const std::string& path) override {
    while (stalls_ && ::gettid() != ::getpid()) ::pause();
    return fs::LocalFileSystem::OpenInputFile(path);
  }

 private:
  const bool stalls_;
};

arrow::Result<std::shared_ptr<fs::FileSystem>> open_stalled(const arrow::util::Uri& uri,
                                                            const arrow::io::IOContext&,
                                                            std::string*) {
  return std::make_shared<StalledFiles>(uri.host() == "rank" + own_rank());
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  millrace::prepare_process(argv);
  const arrow::Status registered =
      arrow::fs::RegisterFileSystemFactory("stalled", {millrace::open_stalled, __FILE__, __LINE__});
  return registered.ok() ? millrace::run_program(argc, argv) : EXIT_FAILURE;
}
