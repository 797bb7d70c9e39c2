// Reads every written file by the safetensors package of Python, and expects equal values.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/model_only.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/safetensors_file.h"
#include "checkpoint/format/tensor_type.h"
#include "checkpoint/testing/small_checkpoint_testing.h"
#include "tests/e2e/run_program.h"

namespace millrace {
namespace {

constexpr char kScript[] = "tests/safetensors/read_checkpoint.py";

std::string hex(const std::string& bytes) {
  return bytes.empty() ? "-" : absl::BytesToHexString(bytes);
}

std::string line(const std::string& file, const TensorInfo& tensor, const std::string& bytes) {
  const std::string shape = absl::StrJoin(tensor.shape, ",");
  return absl::StrCat(file, " ", tensor.name, " ", tensor_type_name(tensor.type), " ",
                      shape.empty() ? "-" : shape, " ", hex(bytes));
}

// Returns the content that our reader finds, in the format of the script.
std::set<std::string> our_lines(const CheckpointReader& checkpoint) {
  std::set<std::string> lines;
  for (const auto& file : checkpoint.manifest().files()) {
    if (file.tensors_size() == 0) continue;
    const auto opened = checkpoint.open_file(file);
    const auto layout = checkpoint.layout(file);
    EXPECT_OK(opened);
    EXPECT_OK(layout);
    for (const TensorInfo& tensor : layout->tensors()) {
      std::string bytes(tensor.size_bytes(), '\0');
      EXPECT_OK((*opened)->read(layout->data_begin() + tensor.begin, absl::MakeSpan(bytes)));
      lines.insert(line(file.name(), tensor, bytes));
    }
  }
  return lines;
}

class SafetensorsPackageTest : public testing::Test {
 protected:
  SafetensorsPackageTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = join_path(testing::TempDir(), std::string("safetensors_package_") + test->name());
    remove_recursively(files_, folder_).IgnoreError();
    EXPECT_OK(files_.create_directories(folder_));
  }

  ProgramResult python(std::vector<std::string> arguments) {
    std::vector<std::string> all = {
        "/usr/bin/env", "PYTHONPATH=external/safetensors:../safetensors", "/usr/bin/python3", "-B"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunningProgram(all).finish();
  }

  void expect_equal(const std::string& path) {
    ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, path));
    const ProgramResult result = python({kScript, path});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::set<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
    EXPECT_FALSE(lines.empty());
    EXPECT_EQ(lines, our_lines(*reader));
  }

  FileSystem& files_ = FileSystem::local();
  std::string folder_;
};

TEST_F(SafetensorsPackageTest, ReadsCheckpoints) {
  for (const int64_t rows : {0, 1, 1000}) {
    const SmallCheckpoint options = {.step = rows, .seed = rows + 1, .rows = rows, .world_size = 2};
    ASSERT_OK(write_small_checkpoint(files_, folder_, options));
    expect_equal(join_path(folder_, checkpoint_name(rows)));
  }
}

TEST_F(SafetensorsPackageTest, ReadsModelOnlyCheckpoints) {
  ASSERT_OK(write_small_checkpoint(files_, folder_, {.step = 1, .rows = 100}));
  const std::string path = join_path(folder_, checkpoint_name(1));
  ThreadPool threads(2);
  ASSERT_OK(make_model_only(files_, path, threads));
  expect_equal(path);
}

TEST_F(SafetensorsPackageTest, SeesOtherBytes) {
  ASSERT_OK(write_small_checkpoint(files_, folder_, {.step = 1}));
  const std::string path = join_path(folder_, checkpoint_name(1));
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, path));
  const std::set<std::string> before = our_lines(*reader);
  const std::string victim = join_path(path, dense_file_name(0, 1));
  ASSERT_OK_AND_ASSIGN(std::string content, read_file(files_, victim));
  content.back() ^= 1;
  ASSERT_OK(write_file_atomically(files_, victim, content));
  const ProgramResult result = python({kScript, path});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::set<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  EXPECT_NE(lines, before) << "so the comparison can fail";
}

// Every element type, odd names and shapes.
TEST_F(SafetensorsPackageTest, ReadsEveryTypeAndName) {
  const std::string bytes(240, '\x01');
  std::vector<TensorSource> tensors;
  std::set<std::string> expected;
  auto add = [&](const std::string& name, TensorType type, std::vector<int64_t> shape) {
    tensors.push_back(tensor_from_memory(name, type, shape, bytes.data()));
    const TensorInfo info{name, type, shape};
    expected.insert(line("-", info, bytes.substr(0, tensor_bytes(type, shape).value())));
  };
  for (const std::string& type : tensor_type_names()) {
    add("type/" + type, tensor_type_of_name(type).value(), {2, 3});
  }
  add("scalar", TensorType::kF32, {});
  add("none", TensorType::kI64, {5, 0, 2});
  add("eight", TensorType::kU8, {1, 2, 1, 2, 1, 2, 1, 2});
  add("gr\xc3\xbc\xc3\x9f\"\\\x01", TensorType::kU8, {3});
  const std::string path = join_path(folder_, "all.safetensors");
  ASSERT_OK(write_safetensors(files_, path, tensors, {{"k\"", "v\n\xc3\xbc"}}));
  const ProgramResult result =
      python({"-c",
              "import safetensors, sys\n"
              "for name, t in safetensors.deserialize(open(sys.argv[1], 'rb').read()):\n"
              "  line = ' '.join(('-', name, t['dtype'], ','.join(map(str, t['shape'])) or '-',\n"
              "                   bytes(t['data']).hex() or '-'))\n"
              "  sys.stdout.buffer.write(line.encode() + b'\\n')\n",
              path});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::set<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines, expected);
}

}  // namespace
}  // namespace millrace
