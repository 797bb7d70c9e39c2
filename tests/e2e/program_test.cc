#include "tests/e2e/program_test.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {

namespace fs = std::filesystem;

std::string millrace_path() {
  return fs::absolute("tools/millrace").string();  // tests start in their runfiles
}

ProgramTest::ProgramTest() : directory_(fresh_test_dir()) {}

ProgramResult ProgramTest::millrace(std::vector<std::string> arguments,
                                    std::chrono::seconds timeout) const {
  arguments.insert(arguments.begin(), millrace_path());
  return run_program(std::move(arguments), {.directory = directory_, .timeout = timeout});
}

ProgramResult ProgramTest::millrace_ok(std::vector<std::string> arguments,
                                       std::chrono::seconds timeout) const {
  ProgramResult result = millrace(std::move(arguments), timeout);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result;
}

std::string ProgramTest::path(const std::string& name) const { return join_path(directory_, name); }

bool ProgramTest::exists(const std::string& name) const { return fs::exists(path(name)); }

void ProgramTest::write(const std::string& name, const std::string& content) const {
  EXPECT_OK(write_file_atomically(FileSystem::local(), path(name), content));
}

std::string ProgramTest::read(const std::string& name) const {
  const absl::StatusOr<std::string> content = read_file(FileSystem::local(), path(name));
  EXPECT_OK(content);
  return content.value_or("");
}

nlohmann::json ProgramTest::read_json(const std::string& name) const {
  const nlohmann::json json = nlohmann::json::parse(read(name), nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << path(name) << " is no JSON";
  return json;
}

std::vector<nlohmann::json> ProgramTest::read_json_lines(const std::string& name) const {
  std::vector<nlohmann::json> lines;
  const std::string text = read(name);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(nlohmann::json::parse(line.begin(), line.end(), nullptr, false));
    EXPECT_TRUE(lines.back().is_object()) << path(name) << ": " << line;
  }
  return lines;
}

std::string ProgramTest::newest_checkpoint(const std::string& output_dir) const {
  const std::string folder = join_path(output_dir, "checkpoints");
  std::string newest;
  if (!exists(folder)) return newest;
  for (const fs::directory_entry& entry : fs::directory_iterator(path(folder))) {
    const std::string name = entry.path().filename().string();
    const bool is_one = name.rfind("step-", 0) == 0 && name.find('.') == std::string::npos;
    if (is_one) newest = std::max(newest, join_path(folder, name));
  }
  return newest;
}

std::string ProgramTest::content_of(const std::string& output_dir) const {
  const std::string checkpoint = newest_checkpoint(output_dir);
  EXPECT_NE(checkpoint, "") << output_dir << " has no checkpoint";
  const nlohmann::json manifest = read_json(join_path(checkpoint, "manifest.json"));
  EXPECT_TRUE(manifest.contains("content_digests"));
  return manifest["progress"]["step"].dump() + manifest["content_digests"].dump();
}

std::vector<std::string> ProgramTest::files_below(const std::string& name) const {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path(name))) {
    if (!entry.is_directory()) files.push_back(fs::relative(entry.path(), path(name)).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace millrace
