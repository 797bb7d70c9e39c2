// Compiles and links the sources of --config=cuda with the compilers directly, so that the
// configuration stays buildable although the other tests build for the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/run_program.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Enough for a compiler step on a busy machine.
constexpr std::chrono::seconds kLimit(280);

const std::vector<std::string> kHostFlags = {
    "-std=c++20",        "-fPIC",           "-ffp-contract=off", "-Wall",
    "-DUSE_DISTRIBUTED", "-DUSE_C10D_GLOO", "-DUSE_C10D_NCCL",   "-I."};

// Returns the folders that third_party/cuda/repository.bzl found; "" for a missing folder.
std::map<std::string, std::string> where() {
  std::map<std::string, std::string> folders;
  const char* const runfiles = std::getenv("TEST_SRCDIR");
  std::ifstream file(std::string(runfiles != nullptr ? runfiles : "..") + "/cuda/where.txt");
  EXPECT_TRUE(file.is_open());
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find('=');
    folders[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return folders;
}

std::string output(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

ProgramResult call(const std::vector<std::string>& arguments) {
  ProgramOptions options;
  options.timeout = kLimit;
  return RunningProgram(arguments, options).finish();
}

class CudaBuildTest : public testing::Test {
 protected:
  void SetUp() override {
    if (toolkit().empty()) GTEST_SKIP() << skip_hardware("nvcc", "there is no CUDA toolkit");
  }

  const std::string& toolkit() { return folders_["toolkit"]; }
  const std::string& wheels() { return folders_["wheels"]; }
  std::string why_no_wheels() const {
    return skip_not_provided("MILLRACE_CUDA_WHEELS", "call ./bazelw cuda_setup");
  }

  ProgramResult nvcc(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {toolkit() + "/bin/nvcc", "-std=c++20", "-O3", "-fmad=false",
                                        "-I."};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return call(command);
  }
  // Compiles a source with the headers of a LibTorch.
  ProgramResult compile(const std::string& libtorch, std::vector<std::string> arguments) {
    std::vector<std::string> command = {"/usr/bin/g++"};
    command.insert(command.end(), kHostFlags.begin(), kHostFlags.end());
    for (const std::string& folder :
         {libtorch + "/include", libtorch + "/include/torch/csrc/api/include",
          wheels() + "/nvidia/nccl/include", toolkit() + "/include",
          std::string("third_party/cuda/handles"), testing::TempDir()}) {
      command.push_back("-isystem");
      command.push_back(folder);
    }
    command.insert(command.end(), arguments.begin(), arguments.end());
    return call(command);
  }

 private:
  std::map<std::string, std::string> folders_ = where();
};

TEST_F(CudaBuildTest, KernelsCompile) {
  const ProgramResult result =
      nvcc({"-gencode=arch=compute_90,code=sm_90", "-Xcompiler=-fPIC,-Wall", "-c",
            "embedding/device/pool_rows_cuda.cu", "-o", output("pool_rows_cuda.o")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("warning")));
}

// Results are equal to the bits of the host only if each product is rounded before it is added, and
// divisions and roots are rounded exactly.
TEST_F(CudaBuildTest, KernelsRoundAsTheHostDoes) {
  const std::string ptx = output("pool_rows_cuda.ptx");
  const ProgramResult result =
      nvcc({"-arch=compute_90", "-ptx", "embedding/device/pool_rows_cuda.cu", "-o", ptx});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string text = read(ptx);
  for (const char* const wanted : {"mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32"}) {
    EXPECT_THAT(text, HasSubstr(wanted));
  }
  for (const char* const unwanted : {"fma.", ".ftz", "approx"}) {
    EXPECT_THAT(text, Not(HasSubstr(unwanted)));
  }
}

// The libraries of the GPU machine must have each symbol that the sources need of LibTorch.
TEST_F(CudaBuildTest, NcclCompilesAndLinks) {
  if (wheels().empty()) GTEST_SKIP() << why_no_wheels();
  const std::string libtorch = wheels() + "/torch";
  std::vector<std::string> link = {"/usr/bin/g++", "-shared",
                                   "-Wl,-z,defs",  "-Wl,--allow-shlib-undefined",
                                   "-o",           output("libnccl_part.so")};
  for (const char* const source : {"distributed/nccl_channel.cc", "distributed/c10d_collectives.cc",
                                   "distributed/c10d_store.cc"}) {
    const std::string object = output(std::to_string(link.size()) + ".o");
    const ProgramResult result = compile(libtorch, {"-c", source, "-o", object});
    ASSERT_EQ(result.exit_code, 0) << source << ":\n" << result.err;
    link.push_back(object);
  }
  for (const std::string argument :
       {"-L" + libtorch + "/lib", std::string("-ltorch"), std::string("-ltorch_cuda"),
        std::string("-ltorch_cpu"), std::string("-lc10_cuda"), std::string("-lc10")}) {
    link.push_back(argument);
  }
  const ProgramResult linked = call(link);
  EXPECT_THAT(linked.err, Not(HasSubstr("cannot find"))) << "a library is missing";
  std::istringstream errors(linked.err);
  for (std::string line; std::getline(errors, line);) {
    if (line.find("undefined reference") == std::string::npos) continue;
    // The command line lacks parts of this repository and Abseil.
    EXPECT_THAT(line, AnyOf(HasSubstr(" `millrace::"), HasSubstr(" for millrace::"),
                            HasSubstr(" `absl::")));
  }
}

// The sources use nodes of autograd, which the two versions of LibTorch hold by different pointers,
// and streams and events.
TEST_F(CudaBuildTest, SourcesCompileWithTheLibtorchOfTheDevice) {
  if (wheels().empty()) GTEST_SKIP() << why_no_wheels();
  for (const char* const source :
       {"embedding/collection_step.cc", "framework/device/batch_upload.cc"}) {
    const ProgramResult result = compile(wheels() + "/torch", {"-fsyntax-only", source});
    EXPECT_EQ(result.exit_code, 0) << source << ":\n" << result.err;
  }
}

// The CPU build has a newer LibTorch than the GPU machine. The test finds sources accepted by a
// single version early. The CPU build lacks a generated header for CUDA.
TEST_F(CudaBuildTest, NcclCompilesWithTheLibtorchOfTheCpuBuild) {
  if (wheels().empty()) GTEST_SKIP() << why_no_wheels();
  const std::string generated = "c10/cuda/impl/cuda_cmake_macros.h";
  std::filesystem::create_directories(output("c10/cuda/impl"));
  std::ofstream(output(generated)) << read(wheels() + "/torch/include/" + generated);
  const char* const source = "distributed/nccl_channel.cc";
  const ProgramResult result = compile(where()["cpu_libtorch"], {"-fsyntax-only", source});
  EXPECT_EQ(result.exit_code, 0) << source << ":\n" << result.err;
}

}  // namespace
}  // namespace millrace
