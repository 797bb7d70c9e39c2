#include "tests/plugins/elf_editor.h"

#include <gtest/gtest.h>

#include <cstring>

namespace millrace {

Elf64_Phdr& ElfEditor::segment(uint32_t type, int n) {
  auto* segments = at<Elf64_Phdr>(header().e_phoff);
  for (int i = 0; i < header().e_phnum; ++i) {
    if (segments[i].p_type == type && n-- == 0) return segments[i];
  }
  ADD_FAILURE() << "no segment of type " << type;
  return segments[0];
}

Elf64_Dyn& ElfEditor::dynamic(int64_t tag) {
  auto* entry = at<Elf64_Dyn>(segment(PT_DYNAMIC).p_offset);
  for (; entry->d_tag != DT_NULL || tag == DT_NULL; ++entry) {
    if (entry->d_tag == tag) return *entry;
  }
  ADD_FAILURE() << "no dynamic entry " << tag;
  return *entry;
}

uint64_t ElfEditor::offset_of(uint64_t address) {
  for (int i = 0; i < 2; ++i) {
    const Elf64_Phdr& loaded = segment(PT_LOAD, i);
    if (address >= loaded.p_vaddr && address < loaded.p_vaddr + loaded.p_filesz) {
      return loaded.p_offset + (address - loaded.p_vaddr);
    }
  }
  ADD_FAILURE() << "nothing is mapped at " << address;
  return 0;
}

Elf64_Sym& ElfEditor::symbol(absl::string_view name) {
  const uint64_t names = offset_of(dynamic(DT_STRTAB).d_un.d_val);
  auto* symbols = at<Elf64_Sym>(offset_of(dynamic(DT_SYMTAB).d_un.d_val));
  // The table of names follows the table of symbols.
  for (int i = 1; reinterpret_cast<char*>(symbols + i) < bytes_.data() + names; ++i) {
    if (name == at<char>(names + symbols[i].st_name)) return symbols[i];
  }
  ADD_FAILURE() << "no symbol " << name;
  return symbols[0];
}

Elf64_Rela& ElfEditor::relocation(int64_t tag) {
  return *at<Elf64_Rela>(offset_of(dynamic(tag).d_un.d_val));
}

char* ElfEditor::name(absl::string_view name) {
  const uint64_t names = offset_of(dynamic(DT_STRTAB).d_un.d_val);
  const std::string ended = '\0' + std::string(name) + '\0';
  const size_t found = bytes_.find(ended, names);
  if (found == std::string::npos) {
    ADD_FAILURE() << "no name " << name;
    return bytes_.data();
  }
  return bytes_.data() + found + 1;
}

PluginNote<PluginBuild>& ElfEditor::build_note() {
  const size_t magic = bytes_.find(absl::string_view(kPluginMagic, sizeof(kPluginMagic)).data(), 0,
                                   sizeof(kPluginMagic));
  EXPECT_NE(magic, std::string::npos);
  return *at<PluginNote<PluginBuild>>(magic - offsetof(PluginNote<PluginBuild>, content));
}

PluginNote<PluginHookText>& ElfEditor::hook_note() {
  const Elf64_Phdr& notes = segment(PT_NOTE);
  for (uint64_t i = notes.p_offset; i < notes.p_offset + notes.p_filesz; i += 4) {
    auto* note = at<PluginNote<PluginHookText>>(i);
    if (std::memcmp(note->name, kPluginNoteName, sizeof(kPluginNoteName)) == 0 &&
        note->type == kHookNote) {
      return *note;
    }
  }
  ADD_FAILURE() << "no note of a hook";
  return *at<PluginNote<PluginHookText>>(0);
}

}  // namespace millrace
