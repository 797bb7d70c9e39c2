#include "tools/doctor/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace millrace {
namespace {

class MachineTest : public testing::Test {
 protected:
  MachineTest() { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  Machine read() { return read_machine(".", root_); }

  const std::string root_ = testing::TempDir() + "/machine";
};

TEST_F(MachineTest, FactsOfFiles) {
  write("/proc/cpuinfo",
        "processor\t: 0\nmodel name\t: A: 9 B\nflags\t: x\n\n"
        "processor\t: 1\nmodel name\t: other\n");
  write("/proc/loadavg", "1.25 0.50 0.10 2/300 12345\n");
  write("/proc/stat", "cpu  10 0 20 50 5 0 5 10 0 0\ncpu0 1 1\n");
  write("/proc/meminfo",
        "MemTotal:  2000 kB\nMemFree: 1 kB\nMemAvailable: 1500 kB\n"
        "SwapTotal: 100 kB\nSwapFree: 60 kB\n");
  write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/memory.max", "1048576\n");
  write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  const Machine machine = read();
  EXPECT_EQ(machine.processor, "A: 9 B");
  EXPECT_EQ(machine.cores, 2);
  EXPECT_GE(machine.usable_cores, 1);
  EXPECT_EQ(machine.load, 1.25);
  EXPECT_EQ(machine.stolen, 0.1);
  EXPECT_EQ(machine.memory, 2000 * 1024);
  EXPECT_EQ(machine.available, 1500 * 1024);
  EXPECT_EQ(machine.swapped, 40 * 1024);
  EXPECT_EQ(machine.governor, "powersave");
  EXPECT_EQ(machine.clock_source, "tsc");
  EXPECT_EQ(machine.quota, 1.5);
  EXPECT_EQ(machine.memory_limit, 1048576);
  EXPECT_EQ(machine.huge_pages, "madvise");
}

TEST_F(MachineTest, WhatIsNotToldIsNone) {
  Machine machine = read();
  EXPECT_EQ(machine.processor, "");
  EXPECT_FALSE(machine.load || machine.stolen || machine.memory || machine.available ||
               machine.swapped || machine.quota || machine.memory_limit);
  EXPECT_EQ(machine.huge_pages, "");
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/memory.max", "max\n");
  write("/proc/stat", "cpu x\n");
  machine = read();
  EXPECT_FALSE(machine.quota || machine.memory_limit || machine.stolen);
}

TEST_F(MachineTest, TheDiskIsThatOfTheNearestParent) {
  const Machine machine = read_machine(testing::TempDir() + "/none/below/it", root_);
  EXPECT_GT(machine.disk_free.value_or(0), 0);
  EXPECT_EQ(machine.missing_directory, testing::TempDir() + "/none/below/it");
  EXPECT_TRUE(std::filesystem::equivalent(machine.disk_parent, testing::TempDir()));
  EXPECT_EQ(read_machine(testing::TempDir(), root_).missing_directory, "");
}

TEST_F(MachineTest, ThisMachine) {
  const Machine machine = read_machine(".");
  EXPECT_GE(machine.cores, machine.usable_cores);
  EXPECT_GT(machine.memory.value_or(0), 1 << 20);
}

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Machine good() {
  Machine machine;
  machine.processor = "A 9";
  machine.cores = machine.usable_cores = 4;
  machine.load = 0.5;
  machine.stolen = 0.001;
  machine.governor = "performance";
  machine.clock_source = "tsc";
  machine.instruction_set = InstructionSet::kAvx2;
  machine.memory = int64_t{16} << 30;
  machine.available = int64_t{12} << 30;
  machine.swapped = 0;
  machine.huge_pages = "madvise";
  machine.open_files = 1024;
  machine.disk_free = int64_t{50} << 30;
  return machine;
}

// Returns the advice of the line `name`.
std::string advice(const Machine& machine, const std::string& name) {
  for (const Finding& finding : diagnose(machine)) {
    if (finding.name == name) return finding.advice;
  }
  ADD_FAILURE() << "no line " << name;
  return "";
}

TEST(DiagnosisTest, AGoodMachineNeedsNoAdvice) {
  const std::vector<Finding> findings = diagnose(good());
  EXPECT_EQ(findings.size(), 11u);
  for (const Finding& finding : findings) EXPECT_EQ(finding.advice, "") << finding.name;
  const std::string text = diagnosis_text(findings);
  EXPECT_THAT(text, HasSubstr("cores               4 of 4, A 9\n"));
  EXPECT_THAT(text, HasSubstr("memory              16.0 GiB, available 12.0 GiB\n"));
  EXPECT_THAT(text, EndsWith("\n\nnothing here slows a job\n"));
}

TEST(DiagnosisTest, AMissingDirectoryIsNamedWithTheParentThatIsReported) {
  Machine machine = good();
  machine.missing_directory = "/nowhere/out";
  machine.disk_parent = "/";
  EXPECT_THAT(diagnosis_text(diagnose(machine)),
              HasSubstr("50.0 GiB at /, as /nowhere/out does not exist\n"));
}

TEST(DiagnosisTest, EachFactHasItsAdvice) {
  Machine machine = good();
  machine.quota = 2.5;
  EXPECT_THAT(advice(machine, "cores"), HasSubstr("set run.threads to 2"));
  machine.quota = 0.5;
  EXPECT_THAT(advice(machine, "cores"), HasSubstr("set run.threads to 1"));
  machine.quota = 4;
  EXPECT_THAT(advice(machine, "cores"), IsEmpty());
  machine.load = 3;
  EXPECT_THAT(advice(machine, "load"), HasSubstr("3.0 other processes want the 4 cores"));
  machine.stolen = 0.1;
  EXPECT_THAT(advice(machine, "stolen time"), HasSubstr("hypervisor"));
  machine.governor = "powersave";
  EXPECT_THAT(advice(machine, "frequency governor"), HasSubstr("cpupower"));
  machine.clock_source = "hpet";
  EXPECT_THAT(advice(machine, "clock source"), HasSubstr("clocksource=tsc"));
  machine.instruction_set = InstructionSet::kBaseline;
  EXPECT_THAT(advice(machine, "instruction set"), HasSubstr("AVX2"));
  machine.memory_limit = int64_t{1} << 30;
  EXPECT_THAT(advice(machine, "memory"), HasSubstr("ends the process at 1.0 GiB"));
  machine.swapped = int64_t{2} << 30;
  EXPECT_THAT(advice(machine, "swap in use"), HasSubstr("swapped out"));
  machine.huge_pages = "never";
  EXPECT_THAT(advice(machine, "huge pages"), HasSubstr("echo madvise"));
  machine.open_files = 256;
  EXPECT_THAT(advice(machine, "open files"), HasSubstr("raise the hard limit of open files"));
  machine.disk_free = 1000;
  EXPECT_THAT(advice(machine, "free disk"), HasSubstr("checkpoint"));
  EXPECT_THAT(diagnosis_text(diagnose(machine)), HasSubstr("\nhuge pages: each lookup"));
}

TEST(DiagnosisTest, WhatIsNotKnownHasNoLine) {
  Machine machine;
  machine.cores = machine.usable_cores = 1;
  machine.instruction_set = InstructionSet::kAvx512;
  EXPECT_EQ(diagnose(machine).size(), 2u);
}

TEST(DiagnosisTest, Json) {
  Machine machine = good();
  machine.huge_pages = "never";
  const nlohmann::json json = nlohmann::json::parse(diagnosis_json(diagnose(machine)));
  EXPECT_EQ(json["huge_pages"]["value"], "never");
  EXPECT_NE(json["huge_pages"]["advice"], "");
  EXPECT_EQ(json["instruction_set"]["value"], "avx2");
  EXPECT_EQ(json["instruction_set"]["advice"], "");
}

}  // namespace
}  // namespace millrace
