#include "plugin/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <set>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "plugin/bad_plugin.h"

namespace millrace {
namespace {

#if defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr uint32_t kIndirectRelocation = R_AARCH64_IRELATIVE;
constexpr uint32_t kRelativeRelocation = R_AARCH64_RELATIVE;
constexpr uint32_t kCopyRelocation = R_AARCH64_COPY;
constexpr uint32_t kWideRelocation = R_AARCH64_TLSDESC;
constexpr uint64_t kPage = 65536;  // the largest page of a kernel
#else
constexpr uint16_t kMachine = EM_X86_64;
constexpr uint32_t kIndirectRelocation = R_X86_64_IRELATIVE;
constexpr uint32_t kRelativeRelocation = R_X86_64_RELATIVE;
constexpr uint32_t kCopyRelocation = R_X86_64_COPY;
constexpr uint32_t kWideRelocation = R_X86_64_TLSDESC;
constexpr uint64_t kPage = 4096;
#endif

constexpr int kMostSegments = 64;
constexpr size_t kMostNoteBytes = 1 << 16;
constexpr size_t kMostNotes = 1024;
constexpr uint64_t kMostMemory = 1ULL << 46;
constexpr uint64_t kMostSharing = 16;  // bytes of all names for each byte of their table
// DT_RELR and related tags, which <elf.h> of older systems lacks.
constexpr int64_t kRelrSize = 35, kRelr = 36, kRelrEntry = 37;
constexpr uint32_t kNoRelocation = 0;  // R_*_NONE of either processor
constexpr uint64_t kWord = 8;          // bytes that most relocations write
// The index of a version is the lower 15 bits of an entry of the table of versions.
constexpr uint16_t kVersionBits = 0x7fff;

// Returns true for entries of the dynamic section in ordinary libraries. All other entries are
// refused: some name further code to load (DT_AUDIT, DT_FILTER) or places to search (DT_RPATH).
bool is_plain(int64_t tag) {
  static const auto* plain = new std::set<int64_t>{
      DT_NEEDED,   DT_HASH,         DT_GNU_HASH,     DT_STRTAB,     DT_STRSZ,      DT_SYMTAB,
      DT_SYMENT,   DT_RELA,         DT_RELASZ,       DT_RELAENT,    DT_RELACOUNT,  kRelr,
      kRelrSize,   kRelrEntry,      DT_JMPREL,       DT_PLTREL,     DT_PLTRELSZ,   DT_PLTGOT,
      DT_INIT,     DT_FINI,         DT_INIT_ARRAY,   DT_FINI_ARRAY, DT_FLAGS,      DT_FLAGS_1,
      DT_VERSYM,   DT_INIT_ARRAYSZ, DT_FINI_ARRAYSZ, DT_VERNEED,    DT_VERNEEDNUM, DT_VERDEF,
      DT_SYMBOLIC, DT_VERDEFNUM,    DT_BIND_NOW};
  return plain->count(tag) > 0;
}

std::string tag_name(int64_t tag) {
  static const auto* names =
      new std::map<int64_t, const char*>{{DT_SONAME, "DT_SONAME"},
                                         {DT_RPATH, "DT_RPATH"},
                                         {DT_RUNPATH, "DT_RUNPATH"},
                                         {DT_AUDIT, "DT_AUDIT"},
                                         {DT_DEPAUDIT, "DT_DEPAUDIT"},
                                         {DT_FILTER, "DT_FILTER"},
                                         {DT_AUXILIARY, "DT_AUXILIARY"},
                                         {DT_TEXTREL, "DT_TEXTREL"},
                                         {DT_REL, "DT_REL"},
                                         {DT_PREINIT_ARRAY, "DT_PREINIT_ARRAY"},
                                         {DT_CONFIG, "DT_CONFIG"},
                                         {DT_DEBUG, "DT_DEBUG"}};
  const auto found = names->find(tag);
  return found == names->end() ? absl::StrFormat("0x%x", tag) : found->second;
}

uint64_t page_of(uint64_t address) { return address / kPage; }

}  // namespace

// Reads a file. Later functions rely on the checks of earlier ones.
class ElfParser {
 public:
  explicit ElfParser(absl::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<ElfFile> parse() {
    RETURN_IF_ERROR(read_header());
    RETURN_IF_ERROR(read_segments());
    RETURN_IF_ERROR(read_dynamic());
    RETURN_IF_ERROR(read_strings());
    RETURN_IF_ERROR(read_symbols());
    RETURN_IF_ERROR(check_relocations(DT_RELA, DT_RELASZ));
    RETURN_IF_ERROR(check_relocations(DT_JMPREL, DT_PLTRELSZ));
    RETURN_IF_ERROR(check_packed_relocations());
    RETURN_IF_ERROR(check_tables());
    RETURN_IF_ERROR(check_versions());
    file_.bytes_ = bytes_;
    for (const Elf64_Phdr& segment : loaded_) {
      file_.segments_.push_back({segment.p_vaddr, segment.p_offset, segment.p_filesz});
    }
    return std::move(file_);
  }

 private:
  // Returns a copy, since the file aligns nothing. REQUIRES: within `from`.
  template <typename T>
  static T copy(absl::string_view from, uint64_t offset) {
    T value;
    std::memcpy(&value, from.data() + offset, sizeof(T));
    return value;
  }

  absl::StatusOr<absl::string_view> range(uint64_t offset, uint64_t size,
                                          absl::string_view what) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      return bad_plugin("its ", what, " lies beyond the end of the file");
    }
    return bytes_.substr(offset, size);
  }

  absl::Status read_header() {
    if (bytes_.size() < sizeof(Elf64_Ehdr))
      return bad_plugin("it is too short for a shared library");
    header_ = copy<Elf64_Ehdr>(bytes_, 0);
    const unsigned char* id = header_.e_ident;
    if (std::memcmp(id, ELFMAG, SELFMAG) != 0) return bad_plugin("it is no ELF file");
    if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB || id[EI_VERSION] != EV_CURRENT ||
        (id[EI_OSABI] != ELFOSABI_NONE && id[EI_OSABI] != ELFOSABI_GNU)) {
      return bad_plugin(
          "it is not of the 64-bit little-endian kind of ELF that this program loads");
    }
    if (header_.e_machine != kMachine) {
      return bad_plugin("it is for another processor (machine ", header_.e_machine,
                        "; this program's is ", kMachine, ")");
    }
    if (header_.e_type != ET_DYN) return bad_plugin("it is no shared library");
    if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 ||
        header_.e_phnum > kMostSegments) {
      return bad_plugin("it has ", header_.e_phnum, " segments of ", header_.e_phentsize,
                        " bytes of header; 1 to ", kMostSegments, " of ", sizeof(Elf64_Phdr),
                        " are expected");
    }
    return absl::OkStatus();
  }

  absl::Status read_segments() {
    ASSIGN_OR_RETURN(
        const absl::string_view table,
        range(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr), "table of segments"));
    std::vector<Elf64_Phdr> notes, inner;
    bool stack = false;
    for (int i = 0; i < header_.e_phnum; ++i) {
      const auto segment = copy<Elf64_Phdr>(table, i * sizeof(Elf64_Phdr));
      switch (segment.p_type) {
        case PT_LOAD: RETURN_IF_ERROR(add_loaded(segment)); break;
        case PT_DYNAMIC:
          if (dynamic_.p_type == PT_DYNAMIC) return bad_plugin("it has two dynamic segments");
          dynamic_ = segment;
          break;
        case PT_NOTE: notes.push_back(segment); break;
        case PT_TLS:
        case PT_GNU_RELRO: inner.push_back(segment); break;
        case PT_INTERP: return bad_plugin("it is a program: it names a loader");
        case PT_GNU_STACK:
          stack = true;
          if ((segment.p_flags & PF_X) != 0) return bad_plugin("it asks for executable stacks");
          break;
        default: break;  // the loader ignores them
      }
    }
    if (!stack) return bad_plugin("it asks for executable stacks: it has no segment GNU_STACK");
    if (loaded_.empty()) return bad_plugin("it has no segment to load");
    for (const Elf64_Phdr& segment : notes) RETURN_IF_ERROR(read_notes(segment));
    for (const Elf64_Phdr& segment : inner) RETURN_IF_ERROR(check_inner(segment));
    return absl::OkStatus();
  }

  // Checks a part of a loaded segment. The loader copies thread-local data from PT_TLS for each
  // thread, and makes PT_GNU_RELRO read-only after relocations.
  absl::Status check_inner(const Elf64_Phdr& segment) const {
    if (segment.p_type == PT_TLS) {
      if (segment.p_filesz > segment.p_memsz) return bad_plugin("its thread-local data is damaged");
      return mapped(segment.p_vaddr, segment.p_filesz, "thread-local data", segment.p_filesz > 0);
    }
    constexpr char kOutside[] =
        "what becomes read-only after relocations (GNU_RELRO) is in no writable segment";
    if (segment.p_memsz > kMostMemory || !is_writable(segment.p_vaddr, 0))
      return bad_plugin(kOutside);
    // Whole pages become read-only; the last page may have bytes after the end of the segment.
    const uint64_t end = page_of(segment.p_vaddr + segment.p_memsz) * kPage;
    if (end <= segment.p_vaddr) return absl::OkStatus();
    const uint64_t last = std::max(segment.p_vaddr, end - kPage);
    return is_writable(segment.p_vaddr, last + 1 - segment.p_vaddr) ? absl::OkStatus()
                                                                    : bad_plugin(kOutside);
  }

  // Segments on a common page would overwrite each other in memory, but not in the file.
  absl::Status add_loaded(const Elf64_Phdr& segment) {
    RETURN_IF_ERROR(range(segment.p_offset, segment.p_filesz, "segment").status());
    const uint64_t end = segment.p_vaddr + segment.p_memsz;
    if (segment.p_filesz > segment.p_memsz || end < segment.p_vaddr || end > kMostMemory) {
      return bad_plugin("a segment is larger than memory or than its place there");
    }
    if (segment.p_offset % kPage != segment.p_vaddr % kPage) {
      return bad_plugin("a segment does not begin at the same place of a page in file and memory");
    }
    if (!loaded_.empty() && segment.p_memsz > 0) {
      const Elf64_Phdr& last = loaded_.back();
      const uint64_t last_end = last.p_vaddr + last.p_memsz;
      if (segment.p_vaddr < last_end ||
          (last_end > 0 && page_of(segment.p_vaddr) <= page_of(last_end - 1))) {
        return bad_plugin("two of its segments share a page of memory");
      }
    }
    if ((segment.p_flags & PF_W) != 0 && (segment.p_flags & PF_X) != 0) {
      return bad_plugin("a segment is both writable and executable");
    }
    if (segment.p_memsz > 0) loaded_.push_back(segment);
    return absl::OkStatus();
  }

  absl::Status read_notes(const Elf64_Phdr& segment) {
    ASSIGN_OR_RETURN(absl::string_view rest, range(segment.p_offset, segment.p_filesz, "note"));
    // ELF pads name and content to 4 bytes, also where a segment states a smaller alignment.
    const uint64_t align = segment.p_align == 8 ? 8 : 4;
    const auto padded = [&](uint64_t size) { return (size + align - 1) / align * align; };
    while (!rest.empty()) {
      if (rest.size() < sizeof(Elf64_Nhdr)) return bad_plugin("a note is cut off");
      const auto header = copy<Elf64_Nhdr>(rest, 0);
      const uint64_t content = sizeof(header) + padded(header.n_namesz);
      const uint64_t end = content + header.n_descsz;
      // The file is not trusted: the limits precede the use of its sizes.
      if (header.n_namesz > kMostNoteBytes || header.n_descsz > kMostNoteBytes) {
        return bad_plugin("a note has ", header.n_namesz, " bytes of name and ", header.n_descsz,
                          " of content; each may have ", kMostNoteBytes);
      }
      if (end > rest.size()) return bad_plugin("a note is cut off");
      if (file_.notes_.size() == kMostNotes) {
        return bad_plugin("it has more than ", kMostNotes, " notes");
      }
      absl::string_view name = rest.substr(sizeof(header), header.n_namesz);
      if (!name.empty() && name.back() == '\0') name.remove_suffix(1);
      file_.notes_.push_back(
          {std::string(name), header.n_type, rest.substr(content, header.n_descsz)});
      // The last note may lack its padding.
      rest.remove_prefix(std::min<uint64_t>(padded(end), rest.size()));
    }
    return absl::OkStatus();
  }

  // Returns the bytes of the file that the loader maps at an address. Memory after the bytes of a
  // segment is filled with zeros, which the file does not contain.
  absl::StatusOr<absl::string_view> mapped(uint64_t address, uint64_t size,
                                           absl::string_view what) const {
    for (const Elf64_Phdr& segment : loaded_) {
      if (address < segment.p_vaddr) continue;
      const uint64_t offset = address - segment.p_vaddr;
      if (offset > segment.p_filesz || size > segment.p_filesz - offset) continue;
      return bytes_.substr(segment.p_offset + offset, size);
    }
    return bad_plugin("its ", what, " is in no segment that is loaded");
  }

  absl::Status read_dynamic() {
    if (dynamic_.p_type != PT_DYNAMIC) return bad_plugin("it has no dynamic segment");
    ASSIGN_OR_RETURN(const absl::string_view entries,
                     mapped(dynamic_.p_vaddr, dynamic_.p_filesz, "dynamic segment"));
    ASSIGN_OR_RETURN(const absl::string_view in_file,
                     range(dynamic_.p_offset, dynamic_.p_filesz, "dynamic segment"));
    if (in_file.data() != entries.data()) {
      return bad_plugin("its dynamic segment has two places in the file");
    }
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= entries.size(); at += sizeof(Elf64_Dyn)) {
      const auto entry = copy<Elf64_Dyn>(entries, at);
      if (entry.d_tag == DT_NULL) return check_flags();
      if (!is_plain(entry.d_tag)) {
        return bad_plugin("its dynamic section has an entry ", tag_name(entry.d_tag),
                          ", which a plugin must not have");
      }
      if (entry.d_tag == DT_NEEDED) {
        needed_.push_back(entry.d_un.d_val);
      } else if (!entries_.emplace(entry.d_tag, entry.d_un.d_val).second) {
        return bad_plugin("its dynamic section has two entries ", tag_name(entry.d_tag));
      }
    }
    return bad_plugin("its dynamic section has no end");
  }

  uint64_t value(int64_t tag) const {
    const auto found = entries_.find(tag);
    return found == entries_.end() ? 0 : found->second;
  }
  bool has(int64_t tag) const { return entries_.count(tag) > 0; }

  absl::Status check_flags() const {
    constexpr uint64_t kFlags = DF_SYMBOLIC | DF_BIND_NOW | DF_STATIC_TLS;
    constexpr uint64_t kFlags1 = DF_1_NOW | DF_1_NODELETE;
    if ((value(DT_FLAGS) & ~kFlags) != 0 || (value(DT_FLAGS_1) & ~kFlags1) != 0) {
      return bad_plugin(
          absl::StrFormat("its flags 0x%x and 0x%x ask for what a plugin must not have",
                          value(DT_FLAGS), value(DT_FLAGS_1)));
    }
    const bool plain = (!has(DT_SYMENT) || value(DT_SYMENT) == sizeof(Elf64_Sym)) &&
                       (!has(kRelrEntry) || value(kRelrEntry) == kWord) &&
                       (!has(DT_RELAENT) || value(DT_RELAENT) == sizeof(Elf64_Rela)) &&
                       (!has(DT_PLTREL) || value(DT_PLTREL) == DT_RELA);
    return plain ? absl::OkStatus()
                 : bad_plugin("its dynamic section has entries of an unknown size");
  }

  absl::Status read_strings() {
    ASSIGN_OR_RETURN(strings_, mapped(value(DT_STRTAB), value(DT_STRSZ), "table of names"));
    if (strings_.empty() || strings_.back() != '\0')
      return bad_plugin("its table of names has no end");
    for (const uint64_t offset : needed_) {
      ASSIGN_OR_RETURN(std::string name, string_at(offset));
      file_.needed_.push_back(std::move(name));
    }
    return absl::OkStatus();
  }

  // Names may share their ends, as linkers write them. Names of a damaged file could share all of
  // the table, which would cost the square of its size.
  absl::StatusOr<std::string> string_at(uint64_t offset) {
    if (offset >= strings_.size()) return bad_plugin("a name lies beyond the table of names");
    std::string name(strings_.data() + offset);  // the table ends with a zero
    name_bytes_ += name.size();
    if (name_bytes_ / kMostSharing > strings_.size())
      return bad_plugin("its names overlap in the table of names");
    return name;
  }

  // Returns the number of dynamic symbols, which only the hash tables contain.
  absl::StatusOr<uint64_t> symbol_count() const {
    uint64_t count = 0;
    if (has(DT_HASH)) {
      ASSIGN_OR_RETURN(const absl::string_view table,
                       mapped(value(DT_HASH), 2 * sizeof(uint32_t), "hash table"));
      count = copy<uint32_t>(table, sizeof(uint32_t));
    }
    if (has(DT_GNU_HASH)) {
      ASSIGN_OR_RETURN(const uint64_t hashed, gnu_hash_count());
      return std::max(count, hashed);
    }
    return has(DT_HASH) ? absl::StatusOr<uint64_t>(count)
                        : bad_plugin("it has no hash table of symbols");
  }

  // Returns the index after the last symbol of the last chain. Chains are in the order of symbols.
  absl::StatusOr<uint64_t> gnu_hash_count() const {
    const uint64_t at = value(DT_GNU_HASH);
    ASSIGN_OR_RETURN(const absl::string_view head, mapped(at, 4 * sizeof(uint32_t), "hash table"));
    const uint64_t buckets = copy<uint32_t>(head, 0);
    const uint64_t first = copy<uint32_t>(head, 4);
    const uint64_t filter = copy<uint32_t>(head, 8);
    // The loader divides by the number of buckets and relies on the size of the filter.
    if (buckets == 0 || !std::has_single_bit(filter))
      return bad_plugin("its hash table is damaged");
    const uint64_t heads = at + 4 * sizeof(uint32_t) + filter * sizeof(uint64_t);
    ASSIGN_OR_RETURN(const absl::string_view bucket,
                     mapped(heads, buckets * sizeof(uint32_t), "hash table"));
    uint64_t last = 0;
    for (uint64_t i = 0; i < buckets; ++i) {
      last = std::max<uint64_t>(last, copy<uint32_t>(bucket, i * sizeof(uint32_t)));
    }
    if (last < first) return first;  // nothing is exported
    const uint64_t chains = heads + buckets * sizeof(uint32_t);
    for (;; ++last) {
      ASSIGN_OR_RETURN(
          const absl::string_view link,
          mapped(chains + (last - first) * sizeof(uint32_t), sizeof(uint32_t), "hash table"));
      if ((copy<uint32_t>(link, 0) & 1) != 0) return last + 1;
    }
  }

  absl::Status read_symbols() {
    ASSIGN_OR_RETURN(symbol_count_, symbol_count());
    ASSIGN_OR_RETURN(
        symbols_, mapped(value(DT_SYMTAB), symbol_count_ * sizeof(Elf64_Sym), "table of symbols"));
    for (uint64_t i = 1; i < symbol_count_; ++i) {
      const auto symbol = copy<Elf64_Sym>(symbols_, i * sizeof(Elf64_Sym));
      const unsigned char binding = ELF64_ST_BIND(symbol.st_info);
      if (binding == STB_LOCAL) continue;
      ElfSymbol one;
      ASSIGN_OR_RETURN(one.name, string_at(symbol.st_name));
      one.defined = symbol.st_shndx != SHN_UNDEF;
      one.weak = binding == STB_WEAK;
      one.unique = binding == STB_GNU_UNIQUE;
      one.indirect = ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
      one.address = symbol.st_value;
      file_.symbols_.push_back(std::move(one));
    }
    return absl::OkStatus();
  }

  // Checks a table of relocations. For indirect relocations, and relocations by indirect symbols
  // (local ones included), the loader calls functions of the file before all other code. A
  // relocation determines the address to write.
  absl::Status check_relocations(int64_t where, int64_t size) {
    if (!has(where)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const absl::string_view table,
                     mapped(value(where), value(size), "table of relocations"));
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.size(); at += sizeof(Elf64_Rela)) {
      const auto relocation = copy<Elf64_Rela>(table, at);
      const uint64_t symbol = ELF64_R_SYM(relocation.r_info);
      if (symbol != 0 && symbol >= symbol_count_) return bad_plugin("a relocation names no symbol");
      const bool indirect =
          symbol != 0 &&
          ELF64_ST_TYPE(copy<Elf64_Sym>(symbols_, symbol * sizeof(Elf64_Sym)).st_info) ==
              STT_GNU_IFUNC;
      if (indirect || ELF64_R_TYPE(relocation.r_info) == kIndirectRelocation) {
        return bad_plugin(
            "it has an indirect function (IFUNC), which would run while it is loaded");
      }
      RETURN_IF_ERROR(check_target(relocation));
    }
    return absl::OkStatus();
  }

  absl::Status check_target(const Elf64_Rela& relocation) {
    const uint64_t type = ELF64_R_TYPE(relocation.r_info);
    if (type == kNoRelocation) return absl::OkStatus();
    // Only programs have copy relocations, which copy the size of a symbol of another library.
    if (type == kCopyRelocation) return bad_plugin("a relocation copies data of the program");
    const uint64_t size = type == kWideRelocation ? 2 * kWord : kWord;
    if (!is_writable(relocation.r_offset, size)) return bad_target(relocation.r_offset);
    if (type == kRelativeRelocation) {
      file_.pointers_[relocation.r_offset] = static_cast<uint64_t>(relocation.r_addend);
    }
    return absl::OkStatus();
  }

  static absl::Status bad_target(uint64_t address) {
    return bad_plugin(absl::StrFormat(
        "a relocation writes to address 0x%x, which is in no writable segment", address));
  }

  // Checks relative relocations in short form. An even entry is an address. Each bit of an odd
  // entry, from the second on, represents one of the 63 following words.
  absl::Status check_packed_relocations() {
    if (!has(kRelr)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const absl::string_view table,
                     mapped(value(kRelr), value(kRelrSize), "table of relocations"));
    bool begun = false;
    uint64_t next = 0;
    for (uint64_t at = 0; at + kWord <= table.size(); at += kWord) {
      uint64_t entry = copy<uint64_t>(table, at);
      if ((entry & 1) == 0) {
        RETURN_IF_ERROR(add_packed(entry));
        next = entry + kWord;
        begun = true;
        continue;
      }
      if (!begun) return bad_plugin("its table of relocations begins without an address");
      uint64_t address = next;
      for (entry >>= 1; entry != 0; entry >>= 1, address += kWord) {
        if ((entry & 1) != 0) RETURN_IF_ERROR(add_packed(address));
      }
      next += 63 * kWord;
    }
    return absl::OkStatus();
  }

  absl::Status add_packed(uint64_t address) {
    if (!is_writable(address, kWord)) return bad_target(address);
    // Memory after the bytes of a segment is zero and points nowhere.
    const absl::StatusOr<absl::string_view> word = mapped(address, kWord, "relocation");
    if (!word.ok()) return absl::OkStatus();
    file_.pointers_[address] = copy<uint64_t>(*word, 0);
    return file_.pointers_.size() <= bytes_.size() / kWord
               ? absl::OkStatus()
               : bad_plugin("it has more relocations than words");
  }

  // Returns true if the loader maps `size` bytes from an address on in a single writable segment.
  bool is_writable(uint64_t address, uint64_t size) const {
    for (const Elf64_Phdr& segment : loaded_) {
      if ((segment.p_flags & PF_W) == 0 || address < segment.p_vaddr) continue;
      const uint64_t offset = address - segment.p_vaddr;
      if (offset <= segment.p_memsz && size <= segment.p_memsz - offset) return true;
    }
    return false;
  }

  // Checks the other tables that the loader reads, so that a damaged file causes an error and not a
  // crash.
  absl::Status check_tables() const {
    RETURN_IF_ERROR(mapped(value(DT_INIT_ARRAY), value(DT_INIT_ARRAYSZ), "table of constructors",
                           has(DT_INIT_ARRAY)));
    RETURN_IF_ERROR(mapped(value(DT_FINI_ARRAY), value(DT_FINI_ARRAYSZ), "table of destructors",
                           has(DT_FINI_ARRAY)));
    RETURN_IF_ERROR(mapped(value(DT_VERSYM), symbol_count_ * sizeof(Elf64_Versym),
                           "table of versions", has(DT_VERSYM)));
    for (const int64_t function : {DT_INIT, DT_FINI}) {
      if (has(function) && !is_code(value(function))) return bad_plugin("a constructor is no code");
    }
    return absl::OkStatus();
  }
  absl::Status mapped(uint64_t address, uint64_t size, absl::string_view what, bool exists) const {
    return exists ? mapped(address, size, what).status() : absl::OkStatus();
  }

  bool is_code(uint64_t address) const {
    for (const Elf64_Phdr& segment : loaded_) {
      if ((segment.p_flags & PF_X) == 0 || address < segment.p_vaddr) continue;
      if (address - segment.p_vaddr < segment.p_filesz) return true;
    }
    return false;
  }

  // Checks the tables of versions. The loader numbers the versions of both lists, and uses the
  // number of a symbol's version as an index without a check.
  absl::Status check_versions() {
    RETURN_IF_ERROR(check_needed_versions());
    RETURN_IF_ERROR(check_defined_versions());
    if (!has(DT_VERSYM)) return absl::OkStatus();
    if (last_version_ == 0) return bad_plugin("it has a table of versions, but no list of them");
    ASSIGN_OR_RETURN(
        const absl::string_view table,
        mapped(value(DT_VERSYM), symbol_count_ * sizeof(Elf64_Versym), "table of versions"));
    for (uint64_t i = 0; i < symbol_count_; ++i) {
      const uint16_t version = copy<Elf64_Versym>(table, i * sizeof(Elf64_Versym)) & kVersionBits;
      if (version <= last_version_) continue;
      return bad_plugin("a symbol has version ", version, " of ", last_version_);
    }
    return absl::OkStatus();
  }

  // Checks a list of libraries, each with a list of versions. Lists end where the loader ends: at
  // an entry with distance 0. Distances are positive, so every list ends. Lists do not overlap, so
  // that the file has room for the entries of all.
  absl::Status check_needed_versions() {
    if (!has(DT_VERNEED)) return absl::OkStatus();
    for (uint64_t at = value(DT_VERNEED);;) {
      ASSIGN_OR_RETURN(const auto library, entry_at<Elf64_Verneed>(at));
      RETURN_IF_ERROR(string_at(library.vn_file).status());
      for (uint64_t version_at = at + library.vn_aux;;) {
        ASSIGN_OR_RETURN(const auto version, entry_at<Elf64_Vernaux>(version_at));
        RETURN_IF_ERROR(string_at(version.vna_name).status());
        add_version(version.vna_other);
        if (version.vna_next == 0) break;
        version_at += version.vna_next;
      }
      if (library.vn_next == 0) return absl::OkStatus();
      at += library.vn_next;
    }
  }

  // Checks a list of versions, each with its name as the first of its names.
  absl::Status check_defined_versions() {
    if (!has(DT_VERDEF)) return absl::OkStatus();
    for (uint64_t at = value(DT_VERDEF);;) {
      ASSIGN_OR_RETURN(const auto version, entry_at<Elf64_Verdef>(at));
      ASSIGN_OR_RETURN(const auto name, entry_at<Elf64_Verdaux>(at + version.vd_aux));
      RETURN_IF_ERROR(string_at(name.vda_name).status());
      add_version(version.vd_ndx);
      if (version.vd_next == 0) return absl::OkStatus();
      at += version.vd_next;
    }
  }

  template <typename Entry>
  absl::StatusOr<Entry> entry_at(uint64_t address) {
    if (++version_entries_ > bytes_.size() / sizeof(Elf64_Verdaux))
      return bad_plugin("its lists of versions overlap");
    ASSIGN_OR_RETURN(const absl::string_view entry,
                     mapped(address, sizeof(Entry), "list of versions"));
    return copy<Entry>(entry, 0);
  }

  void add_version(uint16_t number) {
    last_version_ = std::max<uint16_t>(last_version_, number & kVersionBits);
  }

  const absl::string_view bytes_;
  Elf64_Ehdr header_ = {};
  Elf64_Phdr dynamic_ = {};
  std::vector<Elf64_Phdr> loaded_;
  std::map<int64_t, uint64_t> entries_;  // of the dynamic section, by tag
  std::vector<uint64_t> needed_;         // places of names
  absl::string_view strings_;
  absl::string_view symbols_;
  uint64_t name_bytes_ = 0;       // of the names read so far
  uint64_t version_entries_ = 0;  // read so far
  uint64_t symbol_count_ = 0;
  uint16_t last_version_ = 0;  // the highest version number
  ElfFile file_;
};

absl::StatusOr<absl::string_view> ElfFile::bytes_at(uint64_t address, uint64_t size) const {
  for (const Segment& segment : segments_) {
    if (address < segment.address || address - segment.address > segment.size) continue;
    const uint64_t offset = address - segment.address;
    if (size <= segment.size - offset) return bytes_.substr(segment.offset + offset, size);
  }
  return bad_plugin(absl::StrFormat("it has no bytes for address 0x%x", address));
}

absl::StatusOr<uint64_t> ElfFile::pointer_at(uint64_t address) const {
  const auto found = pointers_.find(address);
  if (found != pointers_.end()) return found->second;
  return bad_plugin(absl::StrFormat("it has no pointer to its own bytes at address 0x%x", address));
}

absl::StatusOr<ElfFile> ElfFile::parse(absl::string_view bytes) { return ElfParser(bytes).parse(); }

}  // namespace millrace
