// Unpacks the tarball and installs the wheel like a user, and trains with both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/run_program.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kCannotStart = 71;
constexpr int kNobody = 65534;
constexpr std::chrono::seconds kTimeout{100};
constexpr char kJob[] = R"(
  train {
    generated_data { directory: "data" rows: 400 eval_rows: 100 }
    train_data { batch_size: 50 }
    feature { name: "label" kind: LABEL }
    feature { name: "i{1..13}" kind: DENSE default_value: 0 }
    feature { name: "c{1..26}" }
    table { name: "c{1..26}" dim: 4 }
    model { name: "deepfm" }
  }
  run { output_dir: "out" })";

// Returns the file of a target of this package.
fs::path package_file(const std::string& target) {
  const fs::directory_iterator folder(fs::absolute("tools/package/" + target));
  return folder == fs::directory_iterator() ? fs::path() : folder->path();
}

// Unpacks packages in a folder of /tmp that every user may enter, once for all tests of a suite.
class PackageTest : public testing::Test {
 protected:
  static void make_folder() {
    std::string name = "/tmp/millrace-package-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::permissions(folder_, fs::perms::all);
  }

  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static std::string path(const std::string& name) { return folder_ / name; }

  static void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }

  // Runs a program in `directory` with only `variables` as its environment.
  static ProgramResult run(const std::string& directory, std::vector<std::string> arguments,
                           std::vector<std::string> variables = {}) {
    arguments.insert(arguments.begin(), variables.begin(), variables.end());
    arguments.insert(arguments.begin(), {"/usr/bin/env", "-i"});
    return run_program(std::move(arguments), {.directory = directory, .timeout = kTimeout});
  }

  // Runs a program like run(), as a user without rights if this process runs as root.
  static ProgramResult run_as_user(const std::string& directory, std::vector<std::string> arguments,
                                   std::vector<std::string> variables = {}) {
    if (::geteuid() == 0) {
      arguments.insert(arguments.begin(), {"/usr/bin/setpriv", absl::StrCat("--reuid=", kNobody),
                                           absl::StrCat("--regid=", kNobody), "--clear-groups"});
    }
    return run(directory, std::move(arguments), std::move(variables));
  }

  // Returns a folder for the outputs of a test, writable by every user.
  static std::string work_folder() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    write(name + "/job.textproto", kJob);
    fs::permissions(path(name), fs::perms::all);
    return path(name);
  }

  // Returns the files of all libraries that the loader uses for a program.
  static std::vector<std::string> libraries_of(const std::string& program) {
    const ProgramResult result = run(path(""), {program}, {"LD_TRACE_LOADED_OBJECTS=1"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> libraries;
    for (const absl::string_view line : absl::StrSplit(result.out, '\n')) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      EXPECT_THAT(std::string(line), Not(HasSubstr("not found")));
      if (words.size() > 2 && words[1] == "=>") {
        libraries.push_back(fs::path(words[2]).lexically_normal());
      }
    }
    EXPECT_GT(libraries.size(), 20) << result.out;
    return libraries;
  }

  static bool is_of_glibc(const std::string& library) {
    const std::string name = fs::path(library).filename();
    for (const char* of_glibc : {"libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so"}) {
      if (absl::StartsWith(name, of_glibc)) return true;
    }
    return false;
  }

  static fs::path folder_;
};

fs::path PackageTest::folder_;

void expect_trained(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out + result.err, HasSubstr("completed: 4 steps"));
}

void expect_resumed(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out + result.err, HasSubstr("resuming from out/checkpoints/step-00000004"));
  EXPECT_THAT(result.out + result.err, HasSubstr("completed: 8 steps"));
}

// Expects a line that begins with `millrace: `.
void expect_refused(const ProgramResult& result, const std::string& reason) {
  EXPECT_EQ(result.exit_code, kCannotStart) << result.err;
  EXPECT_THAT(result.err, StartsWith("millrace: "));
  EXPECT_THAT(result.err, HasSubstr(reason));
  EXPECT_EQ(result.err.find('\n') + 1, result.err.size()) << result.err;
}

class TarballTest : public PackageTest {
 protected:
  static void SetUpTestSuite() {
    make_folder();
    const fs::path tarball = package_file("tarball");
    const ProgramResult result =
        run(path(""), {"/bin/tar", "xzf", tarball}, {"PATH=/usr/bin:/bin"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    home_ = path(tarball.stem().stem());  // without .tar.gz
  }

  static std::string home_;
};

std::string TarballTest::home_;

TEST_F(TarballTest, TrainsAndResumesAsAnotherUserWithoutAnEnvironment) {
  const std::string folder = work_folder();
  expect_trained(
      run_as_user(folder, {home_ + "/bin/millrace", "train", "job.textproto", "--max_steps", "4"}));
  expect_resumed(run_as_user(folder, {home_ + "/bin/millrace", "train", "job.textproto"}));
}

TEST_F(TarballTest, TakesAllLibrariesButThoseOfGlibcFromItself) {
  for (const std::string& library : libraries_of(home_ + "/libexec/millrace")) {
    if (!is_of_glibc(library)) EXPECT_THAT(library, StartsWith(home_ + "/lib/"));
  }
}

TEST_F(TarballTest, LaunchesRanks) {
  const ProgramResult result =
      run_as_user(work_folder(), {home_ + "/bin/millrace", "launch", "-n", "2", "--", "train",
                                  "job.textproto", "--max_steps", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out + result.err, HasSubstr("completed: 2 steps"));
}

TEST_F(TarballTest, TakesNoLibraryOfTheEnvironment) {
  write("other/libtorch_cpu.so", "no library");
  write("other/libprotobuf.so.32", "no library");
  const ProgramResult result = run_as_user(work_folder(), {home_ + "/bin/millrace", "list"},
                                           {"LD_LIBRARY_PATH=" + path("other")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// A job opens the carried library where the system's is none.
TEST_F(TarballTest, CarriesALibraryForKafka) {
  write("broken/librdkafka.so.1", "no library");
  const std::string folder = work_folder();
  write("CarriesALibraryForKafka/topic.textproto", R"(
    train {
      train_data {
        batch_size: 5 csv { column: ["label", "c"] }
        windows { kafka { brokers: "127.0.0.1:1" topic: "t" records: 50 timeout_seconds: 1 } }
      }
      feature { name: "label" kind: LABEL }
      feature { name: "c" }
      table { name: "c" dim: 4 }
      model { name: "deepfm" }
    })");
  const ProgramResult result =
      run_as_user(folder, {home_ + "/bin/millrace", "train", "topic.textproto"},
                  {"LD_LIBRARY_PATH=" + path("broken")});
  EXPECT_THAT(result.err, HasSubstr("(librdkafka 2.16.0)"));
}

// The example in C predicts as `millrace predict` does.
TEST_F(TarballTest, CMakeBuildsAProgramInC) {
  for (const char* name : {"cmake", "pkg-config"}) {
    if (fs::exists(std::string("/usr/bin/") + name)) continue;
    GTEST_SKIP() << skip_package(name, "./bazelw test_setup installs it");
  }
  const std::string folder = work_folder();
  const auto run_here = [&](std::vector<std::string> arguments) {
    const ProgramResult result = run(folder, std::move(arguments), {"PATH=/usr/bin:/bin"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return result.out;
  };
  const std::string rows = "click,x,user,items\n1,1,u1,5|7\n0,4.5,u2,\n1,0,u1,7\n";
  write("CMakeBuildsAProgramInC/train.csv", rows);
  for (const char* name : {"main.c", "CMakeLists.txt", "job.textproto"}) {
    fs::copy_file(fs::absolute(std::string("examples/serving_c/") + name), folder + "/" + name,
                  fs::copy_options::overwrite_existing);
  }
  const std::string program = home_ + "/bin/millrace";
  run_here({program, "train", "job.textproto"});
  run_here({program, "predict", "--checkpoint", "out", "--output", "p.csv"});
  run_here({"cmake", "-S", ".", "-B", "build", "-DCMAKE_PREFIX_PATH=" + home_});
  run_here({"cmake", "--build", "build"});
  std::ifstream file(folder + "/p.csv");
  std::vector<float> expected;
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = absl::StrSplit(line, ',');
  const auto column = std::find(names.begin(), names.end(), "click_prediction") - names.begin();
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    expected.push_back(std::stof(cells.at(column)));
  }
  const std::vector<std::string> lines =
      absl::StrSplit(run_here({"build/predict", "out/published"}), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 4);
  EXPECT_THAT(lines[0], StartsWith("step "));
  ASSERT_EQ(expected.size(), 3);
  for (int row = 0; row < 3; ++row) EXPECT_EQ(std::stof(lines[row + 1]), expected[row]) << row;
  const ProgramResult wrong = run(folder, {"build/predict", "nowhere"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("nowhere"));
}

TEST_F(TarballTest, HasTheExamplesAndTheLicences) {
  const ProgramResult result = run_as_user(
      work_folder(),
      {home_ + "/bin/millrace", "config", "check", home_ + "/examples/quickstart.textproto"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* name :
       {"LICENSE", "README.md", "licenses/torch/LICENSE", "licenses/pyarrow/LICENSE.txt",
        "licenses/libstdc++6/copyright", "licenses/confluent_kafka/LICENSE",
        "licenses/librdkafka-dev/copyright"}) {
    EXPECT_TRUE(fs::exists(fs::path(home_) / name)) << name;
  }
}

class WheelTest : public PackageTest {
 protected:
  // Creates a virtual environment with the wheel. Links to the build's wheels replace the pinned
  // wheels.
  static void SetUpTestSuite() {
    make_folder();
    if (fs::exists("tools/package/wheel")) pins_ = folder_of_wheels();
    if (pins_.empty()) return;
    ASSERT_EQ(run(path(""), {"/usr/bin/python3", "-m", "venv", "env"}).exit_code, 0);
    for (const auto& entry : fs::directory_iterator(path("env/lib"))) {
      packages_ = entry.path() / "site-packages";
    }
    for (const auto& entry : fs::directory_iterator(pins_)) {
      const std::string name = entry.path().filename();
      if (absl::StartsWith(name, "torch") || absl::StartsWith(name, "pyarrow")) {
        fs::create_symlink(entry.path(), packages_ / name);
      }
    }
    const ProgramResult result =
        run(path(""), {"env/bin/pip", "install", "--no-deps", "--no-index", package_file("wheel")});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  void SetUp() override {
    if (pins_.empty()) GTEST_SKIP() << skip_build("LibTorch is not from a wheel");
  }

  // Returns the folder with the packages torch and pyarrow of this build; empty if there is none.
  static fs::path folder_of_wheels() {
    for (const auto& entry : fs::recursive_directory_iterator(
             fs::current_path(), fs::directory_options::follow_directory_symlink)) {
      if (entry.path().filename() != "libtorch_cpu.so") continue;
      const fs::path packages =
          fs::canonical(entry.path()).parent_path().parent_path().parent_path();
      return packages.filename() == "site-packages" ? packages : fs::path();
    }
    return fs::path();
  }

  // Returns the folder dist-info of torch in the environment.
  static fs::path torch_information() {
    for (const auto& entry : fs::directory_iterator(packages_)) {
      const std::string name = entry.path().filename();
      if (absl::StartsWith(name, "torch-") && absl::EndsWith(name, ".dist-info"))
        return entry.path();
    }
    return fs::path();
  }

  static fs::path pins_;
  static fs::path packages_;
};

fs::path WheelTest::pins_;
fs::path WheelTest::packages_;

TEST_F(WheelTest, TrainsAndResumesWithoutAnEnvironment) {
  const std::string folder = work_folder();
  const std::string program = path("env/bin/millrace");
  expect_trained(run(folder, {program, "train", "job.textproto", "--max_steps", "4"}));
  expect_resumed(run(folder, {program, "train", "job.textproto"}));
}

TEST_F(WheelTest, TakesLibTorchAndArrowFromTheirWheelsAndTheRestFromItself) {
  int of_pins = 0;
  for (const std::string& library : libraries_of(packages_ / "millrace/bin/millrace")) {
    if (is_of_glibc(library)) continue;
    EXPECT_THAT(library,
                AnyOf(StartsWith(packages_ / "millrace/lib/"), StartsWith(packages_ / "torch/lib/"),
                      StartsWith(packages_ / "pyarrow/")));
    of_pins += !absl::StartsWith(library, (packages_ / "millrace").string());
  }
  EXPECT_GE(of_pins, 8);
}

TEST_F(WheelTest, HasTheExamples) {
  const ProgramResult result =
      run(work_folder(), {path("env/bin/millrace"), "config", "check",
                          path("env/share/millrace/examples/quickstart.textproto")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(WheelTest, HasTheModuleForRayWhichSaysWhatToInstall) {
  const std::string python = path("env/bin/python3");
  const ProgramResult without = run(work_folder(), {python, "-c", "import millrace.ray"});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_THAT(without.err, HasSubstr("ImportError: millrace.ray needs Ray: pip install 'ray>="));
  // The files that start ranks on nodes are there too.
  const ProgramResult rest =
      run(work_folder(), {python, "-c", "import millrace._ranks, millrace._rank_process"});
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_TRUE(fs::exists(packages_ / "millrace/_rank_guard.py"));
}

// Loads torch, pyarrow, another libprotobuf and the extension in the order of the argument, trains,
// and checks the libraries of the process.
constexpr char kTrainInOrder[] = R"(
import ctypes, os, sys
for name in sys.argv[1].split(','):
  if name == 'libprotobuf':
    ctypes.CDLL(os.path.abspath('other/libprotobuf.so.32'))
  elif name == 'millrace':
    import millrace
    millrace.train
  else:
    __import__(name)
job = millrace.Job.from_file('job.textproto', set=['run.output_dir=' + sys.argv[1]])
result = millrace.train(job)
print('steps', result.steps)
paths = sorted({line.split()[5] for line in open('/proc/self/maps') if '.so' in line})
for name in ('libtorch_cpu', 'libarrow', 'libstdc++', 'libgcc_s', 'libgomp', 'libglog',
             'libprotobuf'):
  found = [path for path in paths if os.path.basename(path).split('.so')[0].split('-')[0] == name]
  own = [path for path in found if '/millrace/lib/' in path]
  assert len(found) == (2 if name == 'libprotobuf' else 1), found
  assert len(own) == (1 if name in ('libglog', 'libprotobuf') else 0), found
  assert all(os.path.basename(path).startswith(name + '-') for path in own), own
)";

TEST_F(WheelTest, TrainsFromPythonBesideOtherLibrariesInEachOrder) {
  const char* test_python = std::getenv("MILLRACE_TEST_PYTHON");
  if (test_python == nullptr) {
    GTEST_SKIP() << skip_not_provided("MILLRACE_TEST_PYTHON", "./bazelw test_setup provides it");
  }
  if (!fs::exists(packages_ / "millrace/_train.cpython-311-x86_64-linux-gnu.so")) {
    GTEST_SKIP() << skip_package("libpython3.11-dev", "the build had no headers of CPython");
  }
  // Packages that torch needs, and that pip would have installed.
  const fs::path needed = fs::path(test_python).parent_path() / "../lib/python3.11/site-packages";
  const std::string folder = work_folder();
  fs::create_directories(folder + "/other");
  fs::copy_file(fs::canonical("/usr/lib/x86_64-linux-gnu/libprotobuf.so.32"),
                folder + "/other/libprotobuf.so.32");
  for (const char* order :
       {"torch,pyarrow,libprotobuf,millrace", "millrace,libprotobuf,torch,pyarrow"}) {
    const ProgramResult result = run(folder, {path("env/bin/python3"), "-c", kTrainInOrder, order},
                                     {absl::StrCat("PYTHONPATH=", needed.string())});
    EXPECT_EQ(result.exit_code, 0) << order << ": " << result.err;
    EXPECT_THAT(result.out, HasSubstr("\nsteps 8\n"));
  }
}

// The tag of the whole is linux_x86_64, since auditwheel does not know that pip installs torch and
// pyarrow.
TEST_F(WheelTest, HasTheTagThatAuditwheelFindsForItsSymbols) {
  const char* test_python = std::getenv("MILLRACE_TEST_PYTHON");
  if (test_python == nullptr) {
    GTEST_SKIP() << skip_not_provided("MILLRACE_TEST_PYTHON", "./bazelw test_setup provides it");
  }
  const fs::path wheel = package_file("wheel");
  const ProgramResult result =
      run_program({test_python, "-m", "auditwheel", "show", "--json", wheel},
                  {.directory = path(""), .timeout = std::chrono::seconds(250)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> parts = absl::StrSplit(wheel.stem().string(), '-');
  EXPECT_THAT(result.out, HasSubstr(absl::StrCat("\"sym_tag\": \"", parts.back(), "\"")));
}

TEST_F(WheelTest, RefusesAnotherLibTorchAndNone) {
  const fs::path information = torch_information();
  const fs::path target = fs::read_symlink(information);
  fs::remove(information);
  expect_refused(run(work_folder(), {path("env/bin/millrace"), "list"}), " has no torch, ");
  const fs::path other = packages_ / "torch-2.0.0.dist-info";
  fs::create_directory(other);
  std::ofstream(other / "METADATA") << "Metadata-Version: 2.1\nName: torch\nVersion: 2.0.0\n";
  expect_refused(run(work_folder(), {path("env/bin/millrace"), "list"}), " has torch 2.0.0, ");
  fs::remove_all(other);
  fs::create_symlink(target, information);
  EXPECT_EQ(run(work_folder(), {path("env/bin/millrace"), "list"}).exit_code, 0);
}

TEST_F(WheelTest, SaysInOneLineThatTheEnvironmentHasNoRoom) {
  const std::string probe = "mount -t tmpfs none /mnt";
  const std::vector<std::string> unshare = {"/usr/bin/unshare", "--user",  "--map-root-user",
                                            "--mount",          "/bin/sh", "-c"};
  std::vector<std::string> command = unshare;
  command.push_back(probe);
  if (run(path(""), command, {"PATH=/usr/bin:/bin"}).exit_code != 0) {
    GTEST_SKIP() << skip_kernel_feature("tmpfs", "no user may mount one");
  }
  // Half of the space that the wheel needs.
  command.back() = absl::StrCat(
      "mkdir full && mount -t tmpfs -o size=9m none full && python3 -m venv --without-pip full && "
      "env/bin/pip --python full/bin/python3 install --no-deps --no-index ",
      package_file("wheel").string(),
      " && echo installed; echo --- >&2; full/bin/python3 -m millrace list; exit $?");
  const ProgramResult result = run(path(""), command, {"PATH=/usr/bin:/bin"});
  EXPECT_THAT(result.out, Not(HasSubstr("installed")));
  const std::vector<std::string> said = absl::StrSplit(result.err, "---\n");
  ASSERT_EQ(said.size(), 2) << result.err;
  EXPECT_THAT(said[0], HasSubstr("No space left on device"));
  expect_refused({result.exit_code, result.out, said[1]}, "make room");
}

}  // namespace
}  // namespace millrace
