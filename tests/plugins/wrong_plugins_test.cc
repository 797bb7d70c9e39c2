// Tests incorrect plugins: each is refused with a sentence about the reason, and none of the code
// runs. All are made from a plugin that leaves a mark when any code runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "plugin/configured_plugins.h"
#include "plugin/elf_file.h"
#include "plugin/plugin_file.h"
#include "tests/plugins/elf_editor.h"
#include "tests/plugins/plugin_folder.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// A change that makes the plugin wrong, and part of the resulting error.
struct Wrong {
  std::string name;
  std::function<void(std::string& bytes, ElfEditor elf)> change;
  std::string error;
};

bool exists(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0;
}

class WrongPluginsTest : public testing::TestWithParam<Wrong> {
 protected:
  WrongPluginsTest() : mark_(folder_.file("mark")) {
    ::setenv("MILLRACE_PLUGIN_MARK", mark_.c_str(), /*overwrite=*/1);
  }
  ~WrongPluginsTest() override { ::unsetenv("MILLRACE_PLUGIN_MARK"); }

  // Loads the plugin from its configuration to a hook; skips the first check if not `resolve`, as
  // if the file had changed since.
  absl::Status load(const std::string& path, bool resolve) {
    JobConfig config;
    config.mutable_run()->mutable_plugins()->add_directory(folder_.path());
    HookConfig& hook = *config.mutable_train()->add_hooks();
    hook.mutable_plugin()->set_path(path);
    hook.mutable_plugin()->set_hook("marking");
    if (resolve) {
      const absl::Status resolved = resolve_plugins(config);
      if (!resolved.ok()) return resolved;
    } else {
      const absl::StatusOr<PluginFile> file = PluginFile::open(path);
      hook.mutable_plugin()->set_sha256(file.ok() ? file->digest() : std::string(64, '0'));
    }
    return create_configured_plugin_hook(config.train().hooks(0), config.run().plugins(),
                                         {FileSystem::local(), Clock::real(), "", {}})
        .status();
  }

  PluginFolder folder_;
  const std::string mark_;
};

// Gives the plugin a table of packed relocations, in place of three dispensable entries.
void pack(ElfEditor& elf, uint64_t address, uint64_t bytes) {
  constexpr int64_t kRelrSize = 35, kRelr = 36, kRelrEntry = 37;
  elf.dynamic(DT_RELACOUNT) = {kRelr, {address}};
  elf.dynamic(DT_FLAGS) = {kRelrSize, {bytes}};
  elf.dynamic(DT_FLAGS_1) = {kRelrEntry, {8}};
}

const std::vector<Wrong>& wrong_plugins() {
  static const auto* all = new std::vector<Wrong>{
      {"Empty", [](auto& bytes, auto) { bytes.clear(); }, "it is empty"},
      {"Text", [](auto& bytes, auto) { bytes = std::string(5000, 'x'); }, "no ELF file"},
      {"TruncatedHeader", [](auto& bytes, auto) { bytes.resize(40); }, "too short"},
      {"TruncatedInTheMiddle", [](auto& bytes, auto) { bytes.resize(bytes.size() / 2); },
       "beyond the end"},
      {"TruncatedByOneByteOfTheLastSegment",
       [](auto& bytes, auto elf) {
         const Elf64_Phdr& last = elf.segment(PT_LOAD, 1);
         bytes.resize(last.p_offset + last.p_filesz - 1);
       },
       "beyond the end"},
      {"Of32Bits", [](auto&, auto elf) { elf.header().e_ident[EI_CLASS] = ELFCLASS32; },
       "64-bit little-endian"},
      {"BigEndian", [](auto&, auto elf) { elf.header().e_ident[EI_DATA] = ELFDATA2MSB; },
       "64-bit little-endian"},
      {"OfAnotherSystem", [](auto&, auto elf) { elf.header().e_ident[EI_OSABI] = 9; },
       "64-bit little-endian"},
      {"ForeignArchitecture", [](auto&, auto elf) { elf.header().e_machine = EM_RISCV; },
       "another processor (machine 243"},
      {"Program", [](auto&, auto elf) { elf.header().e_type = ET_EXEC; }, "no shared library"},
      {"ObjectFile", [](auto&, auto elf) { elf.header().e_type = ET_REL; }, "no shared library"},
      {"TooManySegments", [](auto&, auto elf) { elf.header().e_phnum = 65535; }, "65535 segments"},
      {"NoSegments", [](auto&, auto elf) { elf.header().e_phnum = 0; }, "0 segments"},
      {"SegmentsOfAnotherSize", [](auto&, auto elf) { elf.header().e_phentsize = 55; },
       "of 55 bytes"},
      {"SegmentsBeyondTheEnd", [](auto&, auto elf) { elf.header().e_phoff = ~0ULL - 100; },
       "table of segments lies beyond"},
      {"SegmentBeyondTheEnd", [](auto&, auto elf) { elf.segment(PT_LOAD).p_filesz = 1ULL << 40; },
       "beyond the end"},
      {"SegmentLargerThanMemory", [](auto&, auto elf) { elf.segment(PT_LOAD, 1).p_memsz = ~0ULL; },
       "larger than memory"},
      {"SegmentOfMoreBytesThanMemory", [](auto&, auto elf) { elf.segment(PT_LOAD, 1).p_memsz = 8; },
       "larger than memory or than its place"},
      {"SegmentAcrossPages", [](auto&, auto elf) { elf.segment(PT_LOAD, 1).p_vaddr += 8; },
       "same place of a page"},
      {"SegmentsThatOverlap",
       [](auto&, auto elf) {
         Elf64_Phdr& second = elf.segment(PT_LOAD, 1);
         second.p_vaddr = second.p_offset % 4096;
       },
       "share a page"},
      {"WritableCode", [](auto&, auto elf) { elf.segment(PT_LOAD).p_flags |= PF_W; },
       "both writable and executable"},
      {"ExecutableStack", [](auto&, auto elf) { elf.segment(PT_GNU_STACK).p_flags |= PF_X; },
       "executable stacks"},
      {"NoStack", [](auto&, auto elf) { elf.segment(PT_GNU_STACK).p_type = PT_NULL; },
       "executable stacks"},
      {"Interpreter", [](auto&, auto elf) { elf.segment(PT_GNU_EH_FRAME).p_type = PT_INTERP; },
       "it names a loader"},
      {"TwoDynamicSegments",
       [](auto&, auto elf) { elf.segment(PT_GNU_EH_FRAME).p_type = PT_DYNAMIC; },
       "two dynamic segments"},
      {"NoDynamicSegment", [](auto&, auto elf) { elf.segment(PT_DYNAMIC).p_type = PT_NULL; },
       "no dynamic segment"},
      {"DynamicSegmentElsewhereInTheFile",
       [](auto&, auto elf) { elf.segment(PT_DYNAMIC).p_offset -= 16; }, "two places"},
      {"DynamicSectionWithoutEnd", [](auto&, auto elf) { elf.segment(PT_DYNAMIC).p_filesz = 64; },
       "has no end"},
      {"NoNote", [](auto&, auto elf) { std::memcpy(elf.build_note().name, "Mullrace", 8); },
       "no note of a Millrace plugin"},
      {"NoNoteSegment", [](auto&, auto elf) { elf.segment(PT_NOTE).p_type = PT_NULL; },
       "no note of a Millrace plugin"},
      {"TwoNotes",
       [](auto&, auto elf) {
         // The second segment of notes has the same bytes.
         Elf64_Phdr& second = elf.segment(PT_GNU_EH_FRAME);
         second = elf.segment(PT_NOTE);
       },
       "two notes of a plugin"},
      {"HugeNote", [](auto&, auto elf) { elf.build_note().content_bytes = 0xffffffff; },
       "4294967295 of content"},
      {"HugeNameOfANote", [](auto&, auto elf) { elf.build_note().name_bytes = 0x7fffffff; },
       "2147483647 bytes of name"},
      {"NoteCutOff", [](auto&, auto elf) { elf.segment(PT_NOTE).p_filesz = 100; }, "is cut off"},
      {"NotesBeyondTheEnd", [](auto&, auto elf) { elf.segment(PT_NOTE).p_offset = 1 << 30; },
       "note lies beyond"},
      {"ShortNote",
       [](auto& bytes, auto elf) {
         auto& note = elf.build_note();
         note.content_bytes = 8;
         // The note is the last of the segment.
         elf.segment(PT_NOTE).p_filesz = reinterpret_cast<char*>(&note.content) + 8 - bytes.data() -
                                         elf.segment(PT_NOTE).p_offset;
       },
       "its note is too short"},
      {"NoteOfUnknownType", [](auto&, auto elf) { elf.hook_note().type = 77; }, "unknown type 77"},
      {"NoHook", [](auto&, auto elf) { std::memcpy(elf.hook_note().name, "Mullrace", 8); },
       "it has no hook"},
      {"HookWithoutName", [](auto&, auto elf) { elf.hook_note().content.name[0] = '\0'; },
       "name of a hook without text"},
      {"HookWithAnEndlessName",
       [](auto&, auto elf) { std::memset(elf.hook_note().content.name, 'x', 64); },
       "name of a hook without end"},
      {"WrongMagic", [](auto&, auto elf) { elf.build_note().content.magic[3] ^= 1; }, "magic"},
      {"WrongAbi", [](auto&, auto elf) { elf.build_note().content.abi_version = 99; },
       "version 99 of the plugin interface"},
      // The note of version 1 ended before the digest of headers.
      {"NoteOfVersion1",
       [](auto&, auto elf) {
         PluginBuild& build = elf.build_note().content;
         build.abi_version = 1;
         build.bytes = offsetof(PluginBuild, headers_digest);
       },
       "it has version 1 of the plugin interface; this program has version 2: build it again"},
      {"WrongSizeOfTheNote", [](auto&, auto elf) { elf.build_note().content.bytes = 4; },
       "and says 4"},
      {"WrongSizeOfAType", [](auto&, auto elf) { elf.build_note().content.sizes[3] += 8; },
       "Batch has"},
      {"UnknownType", [](auto&, auto elf) { elf.build_note().content.sizes[15] = 8; },
       "a type has 8"},
      {"WrongMillrace",
       [](auto&, auto elf) { std::strcpy(elf.build_note().content.millrace_version, "9.9"); },
       "built with Millrace 9.9"},
      {"WrongCompiler",
       [](auto&, auto elf) { std::strcpy(elf.build_note().content.compiler_abi, "gcc 4"); },
       "built with the compiler gcc 4"},
      {"WrongLibTorch",
       [](auto&, auto elf) { std::strcpy(elf.build_note().content.libtorch_version, "1.0.0"); },
       "built with LibTorch 1.0.0"},
      {"OtherHeaders",
       [](auto&, auto elf) { std::memset(elf.build_note().content.headers_digest, 'a', 64); },
       "built against other headers of Millrace (digest aaaaaaaaaaaa…; this program's is "},
      {"OtherHeadersSayWhatToDo",
       [](auto&, auto elf) { elf.build_note().content.headers_digest[0] ^= 1; },
       "build it again in the checkout of Millrace that this program was built from"},
      {"NoDigestOfHeaders",
       [](auto&, auto elf) { elf.build_note().content.headers_digest[0] = '\0'; },
       "digest of headers without text"},
      {"EndlessText",
       [](auto&, auto elf) { std::memset(elf.build_note().content.libtorch_version, '2', 32); },
       "without end"},
      {"MissingEntry",
       [](auto&, auto elf) { elf.symbol("millrace_hook_plugin_v1").st_shndx = SHN_UNDEF; },
       "it uses millrace_hook_plugin_v1"},
      {"EntryOfAnotherVersion",
       [](auto&, auto elf) { elf.name("millrace_hook_plugin_v1")[22] = '2'; },
       "it exports millrace_hook_plugin_v2"},
      {"LocalEntry",
       [](auto&, auto elf) {
         elf.symbol("millrace_hook_plugin_v1").st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
       },
       "does not export its entry"},
      {"IndirectEntry",
       [](auto&, auto elf) {
         elf.symbol("millrace_hook_plugin_v1").st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
       },
       "IFUNC"},
      {"UniqueEntry",
       [](auto&, auto elf) {
         elf.symbol("millrace_hook_plugin_v1").st_info = ELF64_ST_INFO(STB_GNU_UNIQUE, STT_FUNC);
       },
       "GNU_UNIQUE"},
      {"IndirectRelocation",
       [](auto&, auto elf) {
         elf.relocation(DT_RELA).r_info = ELF64_R_INFO(0, kIndirectRelocation);
       },
       "indirect function"},
      {"IndirectRelocationOfTheCallTable",
       [](auto&, auto elf) {
         elf.relocation(DT_JMPREL).r_info = ELF64_R_INFO(0, kIndirectRelocation);
       },
       "indirect function"},
      {"RelocationByALocalIndirectSymbol",
       [](auto&, auto elf) {
         // The first relocation of the call table has a symbol.
         elf.symbol("_ZTIN8millrace4HookE").st_info = ELF64_ST_INFO(STB_LOCAL, STT_GNU_IFUNC);
       },
       "indirect function"},
      {"RelocationWithoutSymbol",
       [](auto&, auto elf) { elf.relocation(DT_JMPREL).r_info |= 0xffffULL << 40; },
       "names no symbol"},
      {"RelocationOfReadOnlyMemory", [](auto&, auto elf) { elf.relocation(DT_RELA).r_offset = 64; },
       "a relocation writes to address 0x40, which is in no writable segment"},
      {"RelocationOfTheCallTableBeyondTheSegments",
       [](auto&, auto elf) { elf.relocation(DT_JMPREL).r_offset = ~0ULL - 3; },
       "in no writable segment"},
      {"RelocationAcrossTheEndOfASegment",
       [](auto&, auto elf) {
         const Elf64_Phdr& data = elf.segment(PT_LOAD, 1);
         elf.relocation(DT_RELA).r_offset = data.p_vaddr + data.p_memsz - 7;
       },
       "in no writable segment"},
      {"RelocationThatCopies",
       [](auto&, auto elf) {
         elf.relocation(DT_JMPREL).r_info =
             ELF64_R_INFO(ELF64_R_SYM(elf.relocation(DT_JMPREL).r_info), kCopyRelocation);
       },
       "a relocation copies data"},
      // The first relocation of DT_RELA has a writable address; 8, its kind, is an address in the
      // header.
      {"PackedRelocationOfReadOnlyMemory",
       [](auto&, auto elf) { pack(elf, elf.dynamic(DT_RELA).d_un.d_val, 16); },
       "a relocation writes to address 0x8, which is in no writable segment"},
      {"PackedRelocationsWithoutAddress",
       [](auto& bytes, auto elf) {
         // The second entry of the table of symbols begins with the place of a name, which is odd.
         const uint64_t at = elf.dynamic(DT_SYMTAB).d_un.d_val + sizeof(Elf64_Sym);
         bytes[at] |= 1;
         pack(elf, at, 8);
       },
       "begins without an address"},
      {"PackedRelocationsBeyondTheSegments",
       [](auto&, auto elf) { pack(elf, 1ULL << 40, 8); },
       "table of relocations is in no segment"},
      {"ReadOnlyDataElsewhere", [](auto&, auto elf) { elf.segment(PT_GNU_RELRO).p_vaddr = 0; },
       "GNU_RELRO) is in no writable segment"},
      {"ReadOnlyDataBeyondTheSegment",
       [](auto&, auto elf) { elf.segment(PT_GNU_RELRO).p_memsz = 1 << 20; },
       "GNU_RELRO) is in no writable segment"},
      {"ThreadDataBeyondTheSegments",
       [](auto&, auto elf) {
         Elf64_Phdr& data = elf.segment(PT_GNU_EH_FRAME);
         data.p_type = PT_TLS;
         data.p_vaddr = 1ULL << 40;
       },
       "thread-local data is in no segment"},
      {"DefinedVersionsBeyondTheSegments",
       [](auto&, auto elf) { elf.dynamic(DT_VERDEF).d_un.d_val = 1ULL << 40; },
       "list of versions is in no segment"},
      {"DefinedVersionsThatGoOnBeyondTheSegments",
       [](auto&, auto elf) {
         elf.template version<Elf64_Verdef>(DT_VERDEF).vd_next = 0xfffffff0;
       },
       "list of versions is in no segment"},
      {"DefinedVersionWithoutName",
       [](auto&, auto elf) { elf.template version<Elf64_Verdef>(DT_VERDEF).vd_aux = 0xfffffff0; },
       "list of versions is in no segment"},
      {"NeededVersionsThatGoOnBeyondTheirNumber",
       [](auto&, auto elf) {
         // The loader follows the distances and ignores the number.
         elf.dynamic(DT_VERNEEDNUM).d_un.d_val = 0;
         elf.template version<Elf64_Verneed>(DT_VERNEED).vn_next = 0xfffffff0;
       },
       "list of versions is in no segment"},
      {"SymbolOfAnUnknownVersion", [](auto&, auto elf) { elf.version_of_symbol(1) = 700; },
       "a symbol has version 700 of "},
      {"ConstructorsBeyondTheSegments",
       [](auto&, auto elf) { elf.dynamic(DT_INIT_ARRAYSZ).d_un.d_val = 1 << 20; },
       "table of constructors is in no segment"},
      {"ConstructorThatIsNoCode",
       [](auto&, auto elf) { elf.dynamic(DT_INIT).d_un.d_val = 1ULL << 40; }, "no code"},
      {"VersionsBeyondTheSegments",
       [](auto&, auto elf) { elf.dynamic(DT_VERNEED).d_un.d_val = 1ULL << 40; },
       "list of versions is in no segment"},
      {"HashTableWithoutBuckets",
       [](auto& bytes, auto elf) {
         const uint64_t at = elf.dynamic(DT_GNU_HASH).d_un.d_val;  // address and place are equal
         std::memset(bytes.data() + at, 0, 4);
       },
       "hash table is damaged"},
      {"RelocationsBeyondTheSegments",
       [](auto&, auto elf) { elf.dynamic(DT_RELASZ).d_un.d_val = 1ULL << 40; },
       "table of relocations is in no segment"},
      {"ForeignLibrary", [](auto&, auto elf) { elf.name("libm.so.6")[3] = 'q'; },
       "needs the library \"libq.so.6\""},
      {"LibraryByPath", [](auto&, auto elf) { std::strcpy(elf.name("libm.so.6"), "/tmp/x.so"); },
       "needs the library \"/tmp/x.so\""},
      {"LibraryWithoutName",
       [](auto&, auto elf) { elf.dynamic(DT_NEEDED).d_un.d_val = 1ULL << 33; },
       "beyond the table of names"},
      {"SearchPath", [](auto&, auto elf) { elf.dynamic(DT_RELACOUNT).d_tag = DT_RUNPATH; },
       "DT_RUNPATH"},
      {"OldSearchPath", [](auto&, auto elf) { elf.dynamic(DT_RELACOUNT).d_tag = DT_RPATH; },
       "DT_RPATH"},
      {"Auditor", [](auto&, auto elf) { elf.dynamic(DT_RELACOUNT).d_tag = DT_AUDIT; }, "DT_AUDIT"},
      {"Filter", [](auto&, auto elf) { elf.dynamic(DT_RELACOUNT).d_tag = DT_FILTER; }, "DT_FILTER"},
      {"AuxiliaryFilter", [](auto&, auto elf) { elf.dynamic(DT_RELACOUNT).d_tag = DT_AUXILIARY; },
       "DT_AUXILIARY"},
      {"NameOfALibrary", [](auto&, auto elf) { elf.dynamic(DT_RELACOUNT).d_tag = DT_SONAME; },
       "DT_SONAME"},
      {"ChangeableCode", [](auto&, auto elf) { elf.dynamic(DT_RELACOUNT).d_tag = DT_TEXTREL; },
       "DT_TEXTREL"},
      {"UnknownDynamicEntry", [](auto&, auto elf) { elf.dynamic(DT_RELACOUNT).d_tag = 0x6ffffef0; },
       "0x6ffffef0"},
      {"TwoTablesOfNames", [](auto&, auto elf) { elf.dynamic(DT_RELACOUNT).d_tag = DT_STRTAB; },
       "two entries"},
      {"ForbiddenFlags",
       [](auto&, auto elf) { elf.dynamic(DT_FLAGS_1).d_un.d_val = DF_1_INTERPOSE; }, "flags"},
      {"NamesWithoutEnd", [](auto&, auto elf) { elf.dynamic(DT_STRSZ).d_un.d_val -= 1; },
       "table of names has no end"},
      {"NoTableOfNames", [](auto&, auto elf) { elf.dynamic(DT_STRTAB).d_un.d_val = 1ULL << 45; },
       "table of names is in no segment"},
      {"NoTableOfSymbols", [](auto&, auto elf) { elf.dynamic(DT_SYMTAB).d_un.d_val = 1ULL << 45; },
       "table of symbols is in no segment"},
      {"NoHashTable", [](auto&, auto elf) { elf.dynamic(DT_GNU_HASH).d_un.d_val = 0x200; },
       "is in no segment"},
      {"UnknownSymbolOfTheProgram",
       [](auto&, auto elf) { elf.name("_ZTIN8millrace4HookE")[14] = 'P'; },
       "which this program does not have"},
  };
  return *all;
}

TEST_P(WrongPluginsTest, IsRefusedAndRunsNothing) {
  std::string bytes = read_runfile("tests/plugins/marking_plugin.so");
  GetParam().change(bytes, ElfEditor(bytes));
  const std::string path = folder_.write("wrong.so", bytes);
  for (const bool resolve : {true, false}) {
    const absl::Status status = load(path, resolve);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().error));
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
  EXPECT_FALSE(exists(mark_));
}

INSTANTIATE_TEST_SUITE_P(All, WrongPluginsTest, testing::ValuesIn(wrong_plugins()),
                         [](const auto& wrong) { return wrong.param.name; });

// The unchanged plugin is correct, and the mark appears: so the tests above can fail.
TEST_F(WrongPluginsTest, TheUnchangedPluginLeavesItsMark) {
  EXPECT_OK(load(folder_.copy("right.so", "tests/plugins/marking_plugin.so"), /*resolve=*/true));
  EXPECT_TRUE(exists(mark_));
}

// The numbers of descriptors and of mappings of copies of plugins.
struct Held {
  int64_t descriptors = 0, mappings = 0;
  friend bool operator==(const Held&, const Held&) = default;
};
Held held() {
  Held held;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++held.descriptors;
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    held.mappings += line.find("/memfd:") != std::string::npos;
  }
  return held;
}

// Only the dynamic loader finds that a library lacks this version.
TEST_F(WrongPluginsTest, AFileThatTheLoaderRefusesLeavesNothingBehind) {
  std::string bytes = read_runfile("tests/plugins/marking_plugin.so");
  std::strcpy(ElfEditor(bytes).name("GLIBC_2.14"), "GLIBC_9.14");
  const std::string path = folder_.write("refused.so", bytes);
  const Held before = held();
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = load(path, /*resolve=*/true);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("the dynamic loader refuses it"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("GLIBC_9.14"));
  }
  EXPECT_EQ(held(), before);
  EXPECT_FALSE(exists(mark_));
}

// Any byte of the headers, notes and tables may be wrong: the plugin is refused or loaded, but
// reads stay within its bytes (--config=asan).
TEST_F(WrongPluginsTest, ReadsOfAnyHeaderStayWithinTheFile) {
  const std::string right = read_runfile("tests/plugins/marking_plugin.so");
  int refused = 0;
  std::string copy = right;
  const size_t dynamic = ElfEditor(copy).segment(PT_DYNAMIC).p_offset;
  for (size_t i = 0; i < 1200; ++i) {
    for (const unsigned char value : {0x00, 0x7f, 0xff}) {
      std::string bytes = right;
      const size_t at = i < 700 ? i : dynamic + (i - 700);
      bytes[at] = static_cast<char>(value);
      refused += !ElfFile::parse(bytes).ok();
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace millrace
