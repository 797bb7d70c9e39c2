#include "plugin/elf_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/file_system.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Invalid files are tested in tests/plugins/wrong_plugins_test.cc.
class ElfFileTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(bytes_,
                         read_file(FileSystem::local(), "examples/plugins/calibration_guard.so"));
  }
  std::string bytes_;
};

TEST_F(ElfFileTest, ReadsNotesLibrariesAndSymbols) {
  ASSERT_OK_AND_ASSIGN(const ElfFile elf, ElfFile::parse(bytes_));
  const auto of_millrace = [](const ElfNote& note) { return note.name == "Millrace"; };
  EXPECT_EQ(std::count_if(elf.notes().begin(), elf.notes().end(), of_millrace), 2);
  EXPECT_THAT(elf.needed(), testing::Contains("libc.so.6"));
  const auto symbol = [&](const std::string& name) {
    return *std::find_if(elf.symbols().begin(), elf.symbols().end(),
                         [&](const ElfSymbol& one) { return one.name == name; });
  };
  EXPECT_TRUE(symbol("millrace_hook_plugin_v1").defined);
  EXPECT_FALSE(symbol("millrace_hook_plugin_v1").weak);
  EXPECT_FALSE(symbol("_ZTIN8millrace4HookE").defined);
  EXPECT_TRUE(symbol("__gmon_start__").weak);
}

// Bytes without requirements: sections, debug information, an appended signature.
TEST_F(ElfFileTest, AllowsBytesBehindTheSegments) {
  EXPECT_OK(ElfFile::parse(bytes_ + std::string(1000, 'x')));
}

TEST_F(ElfFileTest, AnyCutGivesAnErrorOrTheSameNotes) {
  ASSERT_OK_AND_ASSIGN(const ElfFile whole, ElfFile::parse(bytes_));
  for (size_t size = 0; size < bytes_.size(); size += 97) {
    const std::string cut = bytes_.substr(0, size);  // a copy, for --config=asan
    const absl::StatusOr<ElfFile> elf = ElfFile::parse(cut);
    if (!elf.ok()) continue;
    EXPECT_EQ(elf->notes().size(), whole.notes().size());
  }
}

// Returns the section of the names of dynamic symbols.
Elf64_Shdr names_of(const std::string& bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type == SHT_STRTAB && (section.sh_flags & SHF_ALLOC) != 0) return section;
  }
  ADD_FAILURE() << "no names";
  return {};
}

// A table without ends of names makes each name as long as the table.
TEST_F(ElfFileTest, NamesThatShareTheWholeTableAreRefused) {
  const Elf64_Shdr names = names_of(bytes_);
  ASSERT_GT(names.sh_size, 1000);
  std::fill_n(bytes_.begin() + names.sh_offset + 1, names.sh_size - 2, 'x');
  EXPECT_THAT(ElfFile::parse(bytes_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("names overlap")));
}

TEST_F(ElfFileTest, RefusesTheProgramItself) {
  ASSERT_OK_AND_ASSIGN(const std::string program, read_file(FileSystem::local(), "/proc/self/exe"));
  EXPECT_THAT(std::string(ElfFile::parse(program).status().message()),
              AnyOf(HasSubstr("names a loader"), HasSubstr("no shared library")));
}

}  // namespace
}  // namespace millrace
