#include "tools/doctor/machine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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

}  // namespace
}  // namespace millrace
