#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/failure_kind.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/format/name_path.h"
#include "checkpoint/inspect/checkpoint_content.h"
#include "checkpoint/inspect/checkpoint_diff.h"
#include "checkpoint/inspect/table_scan.h"
#include "checkpoint/objects/object_files.h"
#include "tools/checkpoint/checkpoint_diff_report.h"
#include "tools/checkpoint/checkpoint_export.h"
#include "tools/checkpoint/checkpoint_forget.h"
#include "tools/checkpoint/checkpoint_report.h"
#include "tools/checkpoint/checkpoint_values.h"
#include "tools/checkpoint/table_report.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/output/output_file.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

constexpr int64_t kMaxTensorLines = 100;

struct CheckpointCommandFlags {
  std::string path;
  std::string other_path;
  std::vector<std::string> paths;
  std::string tensor;
  std::string table;
  std::vector<std::string> ids;
  bool text = false;
  std::string output;
  std::string format;
  bool delta = false;
  bool no_referred_files = false;
  bool json = false;
  std::string ids_file;
  int64_t top = 10;
  int threads = 4;
};

// Reports skipped checkpoints on stderr.
void warn(const NewestCheckpoint& found) {
  for (const absl::Status& damaged : found.damaged) {
    std::cerr << "millrace: passed over: " << damaged.message() << std::endl;
  }
}

absl::StatusOr<int> list(const CheckpointCommandFlags& flags) {
  FileSystem& files = ObjectFiles::process();
  ASSIGN_OR_RETURN(const CheckpointPath place, resolve_checkpoint_path(files, flags.path));
  if (place.is_checkpoint) {
    return absl::InvalidArgumentError(
        absl::StrCat(place.path, " is one checkpoint; list takes the folder it is in"));
  }
  ASSIGN_OR_RETURN(std::vector<ListedCheckpoint> checkpoints, list_checkpoints(files, place.path));
  check_bases(checkpoints);
  std::cout << (flags.json ? list_json(checkpoints) : list_text(checkpoints)) << std::flush;
  return kExitFinished;
}

absl::StatusOr<std::unique_ptr<CheckpointContent>> open_content(const std::string& path,
                                                                Check check = Check::kQuick) {
  ThreadPool threads(1);
  ASSIGN_OR_RETURN(NewestCheckpoint found,
                   open_checkpoint(ObjectFiles::process(), path, check, threads));
  warn(found);
  return std::make_unique<CheckpointContent>(std::move(found.chain));
}

absl::StatusOr<int> show_table(const CheckpointCommandFlags& flags) {
  ASSIGN_OR_RETURN(const auto content, open_content(flags.path));
  ASSIGN_OR_RETURN(const TableUse use, read_table_use(*content, flags.table, flags.top));
  std::cout << (flags.json ? table_use_json(use) : table_use_text(use)) << std::flush;
  return kExitFinished;
}

absl::StatusOr<int> show(const CheckpointCommandFlags& flags) {
  if (!flags.table.empty()) return show_table(flags);
  ThreadPool threads(1);
  ASSIGN_OR_RETURN(const NewestCheckpoint found,
                   open_checkpoint(ObjectFiles::process(), flags.path, Check::kQuick, threads));
  warn(found);
  const CheckpointReader& checkpoint = *found.chain.back();
  std::cout << (flags.json ? show_json(checkpoint) : show_text(checkpoint)) << std::flush;
  return kExitFinished;
}

absl::StatusOr<int> read(const CheckpointCommandFlags& flags) {
  if (flags.tensor.empty() == flags.table.empty()) {
    return absl::InvalidArgumentError("read takes --tensor, or --table with --ids");
  }
  ASSIGN_OR_RETURN(const auto content, open_content(flags.path));
  absl::StatusOr<std::string> text;
  if (!flags.tensor.empty()) {
    text = flags.json ? tensor_json(*content, flags.tensor)
                      : tensor_text(*content, flags.tensor, kMaxTensorLines);
  } else {
    RETURN_IF_ERROR(find_columns(content->manifest(), flags.table, {}).status(),
                    content->directory());
    ASSIGN_OR_RETURN(const AskedRows asked, asked_rows(content->manifest(), flags.table, flags.ids,
                                                       flags.text, ObjectFiles::process()));
    text = flags.json ? rows_json(*content, flags.table, asked)
                      : rows_text(*content, flags.table, asked);
  }
  RETURN_IF_ERROR(text.status());
  std::cout << *text << std::flush;
  return kExitFinished;
}

// Reads a word of each line.
absl::StatusOr<std::vector<std::string>> read_words(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_file(files, path));
  std::vector<std::string> words;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) words.emplace_back(line);
  }
  if (!words.empty()) return words;
  return absl::InvalidArgumentError(absl::StrCat(path, " has no id; write one on each line"));
}

absl::StatusOr<int> forget(const CheckpointCommandFlags& flags) {
  FileSystem& files = ObjectFiles::process();
  ASSIGN_OR_RETURN(const CheckpointPath place, resolve_checkpoint_path(files, flags.path));
  if (place.is_checkpoint) {
    return absl::InvalidArgumentError(absl::StrCat(
        place.path,
        " is one checkpoint; forget takes its folder, since other checkpoints and deltas "
        "have the ids too"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> words, read_words(files, flags.ids_file),
                   "--ids");
  ASSIGN_OR_RETURN(const auto content, open_content(flags.path));
  ASSIGN_OR_RETURN(const AskedRows asked, asked_rows(content->manifest(), flags.table, words,
                                                     flags.text, ObjectFiles::process()));
  ASSIGN_OR_RETURN(const std::vector<ForgottenIds> forgotten,
                   forget_ids(files, Clock::real(), place.path, flags.table, asked.ids));
  for (const ForgottenIds& lost : forgotten) {
    std::cout << lost.path << ": " << lost.rows << " rows, " << lost.candidates
              << " admission counts, " << lost.evicted << " entries of the log of evicted ids, "
              << lost.tombstones << " tombstones removed\n";
  }
  if (forgotten.empty()) {
    std::cout << "no checkpoint had one of the " << asked.ids.size() << " ids ("
              << asked.texts.size()
              << " of them given as text; --text takes digits as text, too)\n";
  }
  std::cout << "recorded in " << join_path(place.path, kForgottenName) << std::endl;
  return kExitFinished;
}

absl::StatusOr<int> diff(const CheckpointCommandFlags& flags) {
  ASSIGN_OR_RETURN(const auto a, open_content(flags.path));
  ASSIGN_OR_RETURN(const auto b, open_content(flags.other_path));
  ASSIGN_OR_RETURN(const CheckpointDiff difference, compare_checkpoints(*a, *b));
  std::cout << (flags.json ? diff_json(difference) : diff_text(difference)) << std::flush;
  return difference.equal() ? kExitFinished : kExitDifferent;
}

// Returns the format of --format, or by default of the file's name.
absl::StatusOr<ExportFormat> export_format(const CheckpointCommandFlags& flags) {
  if (!flags.format.empty()) return parse_export_format(flags.format);
  const bool parquet =
      absl::EndsWith(flags.output, ".parquet") || absl::EndsWith(flags.output, ".pq");
  return parquet && !flags.table.empty() ? ExportFormat::kParquet : ExportFormat::kSafetensors;
}

absl::Status check_export_extension(const std::string& path, ExportFormat format) {
  return format == ExportFormat::kParquet ? check_extension(path, "Parquet", {".parquet", ".pq"})
                                          : check_extension(path, "safetensors", {".safetensors"});
}

absl::StatusOr<int> run_export(const CheckpointCommandFlags& flags) {
  ExportOptions options;
  options.output = flags.output;
  options.table = flags.table;
  options.delta = flags.delta;
  options.referred_files = !flags.no_referred_files;
  options.sources = &ObjectFiles::process();
  ASSIGN_OR_RETURN(options.format, export_format(flags), "--format");
  if (!flags.table.empty()) {
    RETURN_IF_ERROR(check_export_extension(flags.output, options.format), "--output");
  }
  // All bytes are read. In a folder, a checkpoint that proves damaged is skipped.
  ASSIGN_OR_RETURN(const auto content, open_content(flags.path, Check::kFull));
  ASSIGN_OR_RETURN(const std::vector<ExportedFile> written,
                   export_checkpoint(FileSystem::local(), *content, options));
  const auto& left_out = content->manifest().left_out();
  if (!left_out.empty() && flags.table.empty()) {
    std::cerr << "millrace: " << content->directory() << " was saved without "
              << absl::StrJoin(left_out, ", ") << ", which the export lacks\n";
  }
  std::cout << "exported " << content->directory() << "\n";
  for (const ExportedFile& file : written) {
    std::cout << file.path;
    if (file.rows > 0) std::cout << ": " << file.rows << " rows";
    if (file.removed > 0) std::cout << ", " << file.removed << " removed";
    std::cout << "\n";
  }
  std::cout.flush();
  return kExitFinished;
}

// Checks every byte of a checkpoint and of the checkpoints below a delta.
absl::Status verify_checkpoint(const std::string& path, ThreadPool& threads) {
  ASSIGN_OR_RETURN(const auto chain, open_chain(ObjectFiles::process(), path));
  int64_t bytes = 0, files = 0;
  for (const auto& checkpoint : chain) {
    RETURN_IF_ERROR(checkpoint->verify(threads));
    bytes += total_bytes(checkpoint->manifest());
    files += checkpoint->manifest().files_size() + 1;
  }
  std::cout << path << ": ok, " << files << " files, " << bytes_text(bytes);
  if (chain.size() > 1) std::cout << ", in " << chain.size() << " checkpoints of a chain";
  std::cout << std::endl;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> checkpoints_of(const std::string& path) {
  FileSystem& files = ObjectFiles::process();
  ASSIGN_OR_RETURN(const CheckpointPath place, resolve_checkpoint_path(files, path));
  std::vector<std::string> found;
  if (place.is_checkpoint) {
    found.push_back(place.path);
    return found;
  }
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> checkpoints,
                   list_checkpoints(files, place.path));
  for (const ListedCheckpoint& listed : checkpoints) found.push_back(listed.path);
  if (!found.empty()) return found;
  return absl::NotFoundError(absl::StrCat("there is no checkpoint in ", place.path));
}

absl::StatusOr<int> verify(const CheckpointCommandFlags& flags) {
  ThreadPool threads(flags.threads);
  std::vector<std::string> checkpoints;
  for (const std::string& path : flags.paths) {
    ASSIGN_OR_RETURN(const std::vector<std::string> found, checkpoints_of(path));
    checkpoints.insert(checkpoints.end(), found.begin(), found.end());
  }
  absl::Status first;
  std::vector<std::string> bad;
  for (const std::string& path : checkpoints) {
    const absl::Status status = name_path(verify_checkpoint(path, threads), path);
    if (status.ok()) continue;
    if (checkpoints.size() == 1) return status;
    std::cout << status.message() << std::endl;
    first.Update(status);
    bad.push_back(path);
  }
  if (bad.empty()) return kExitFinished;
  // The lines of standard output have the findings.
  return with_kind(absl::Status(first.code(), absl::StrCat(bad.size(), " of ", checkpoints.size(),
                                                           " checkpoints are not whole: ",
                                                           absl::StrJoin(bad, ", "))),
                   kind_of(first));
}

constexpr char kPlace[] =
    "a checkpoint, or a folder of checkpoints or an output directory: its newest that is whole";

using Action = absl::StatusOr<int> (*)(const CheckpointCommandFlags&);

// A subcommand and its action.
struct Subcommand {
  CLI::App* app;
  Action run;
};

void add_json(CLI::App& app, CheckpointCommandFlags& flags) {
  app.add_flag("--json", flags.json, "print JSON");
}

Subcommand add_list(CLI::App& command, CheckpointCommandFlags& flags) {
  CLI::App* app = command.add_subcommand("list", "all checkpoints of a folder, damaged ones too");
  app->add_option("DIR", flags.path, "a folder of checkpoints, or an output directory")->required();
  add_json(*app, flags);
  return {app, list};
}

Subcommand add_show(CLI::App& command, CheckpointCommandFlags& flags) {
  CLI::App* app = command.add_subcommand("show", "what is in a checkpoint");
  app->add_option("PATH", flags.path, kPlace)->required();
  CLI::Option* const table =
      app->add_option("--table", flags.table, "how the rows of this table are used");
  app->add_option("--top", flags.top, "with --table: number of the hottest ids")
      ->check(CLI::Range(0, 1000000))
      ->needs(table)
      ->capture_default_str();
  add_json(*app, flags);
  return {app, show};
}

Subcommand add_forget(CLI::App& command, CheckpointCommandFlags& flags) {
  CLI::App* app = command.add_subcommand(
      "forget", "remove rows, counts and log entries of ids from all checkpoints of a folder");
  app->add_option("DIR", flags.path, "a folder of checkpoints, or an output directory")->required();
  app->add_option("--table", flags.table, "the table of the ids")->required();
  app->add_option("--ids", flags.ids_file,
                  "file with an id on each line; texts too, if a feature of the table makes ids of "
                  "text")
      ->required();
  app->add_flag("--text", flags.text, "take ids of digits as texts too");
  return {app, forget};
}

Subcommand add_verify(CLI::App& command, CheckpointCommandFlags& flags) {
  CLI::App* app =
      command.add_subcommand("verify", "read every byte and compare it with its digest");
  app->add_option("PATH", flags.paths,
                  "checkpoints; of a folder or an output directory all of them")
      ->required();
  app->add_option("--threads", flags.threads, "threads that read")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  return {app, verify};
}

Subcommand add_read(CLI::App& command, CheckpointCommandFlags& flags) {
  CLI::App* app =
      command.add_subcommand("read", "one tensor, or rows of some ids, without reading the rest");
  app->add_option("PATH", flags.path, kPlace)->required();
  app->add_option("--tensor", flags.tensor,
                  "a dense tensor, or table/NAME/ids, table/NAME/weights, ...");
  CLI::Option* ids =
      app->add_option("--ids", flags.ids,
                      "ids of rows, with commas between: integers, or texts that the features of "
                      "the table make ids of")
          ->delimiter(',');
  app->add_flag("--text", flags.text, "take ids of digits as texts too")->needs(ids);
  app->add_option("--table", flags.table, "a table")->needs(ids);
  add_json(*app, flags);
  return {app, read};
}

Subcommand add_diff(CLI::App& command, CheckpointCommandFlags& flags) {
  CLI::App* app = command.add_subcommand(
      "diff", "in what two checkpoints differ; exit code 0 if in nothing, else 1");
  app->add_option("A", flags.path, kPlace)->required();
  app->add_option("B", flags.other_path, "another one")->required();
  add_json(*app, flags);
  return {app, diff};
}

Subcommand add_export(CLI::App& command, CheckpointCommandFlags& flags) {
  CLI::App* app = command.add_subcommand(
      "export", "write weights as safetensors or Parquet, for others to read");
  app->add_option("PATH", flags.path, kPlace)->required();
  app->add_option("--output", flags.output, "a new directory, or with --table a new file")
      ->required();
  app->add_option("--table", flags.table, "this table alone");
  app->add_option("--format", flags.format,
                  "of tables: safetensors or parquet; default: by the name of --output, else "
                  "safetensors");
  app->add_flag("--delta", flags.delta,
                "of a delta: only the rows that it changes, and the ids that went");
  app->add_flag("--no_referred_files", flags.no_referred_files,
                "do not copy the files that the job refers to, such as vocabularies");
  return {app, run_export};
}

}  // namespace

Command add_checkpoint_command(CLI::App& program) {
  auto flags = std::make_shared<CheckpointCommandFlags>();  // shared with the parser's callbacks
  CLI::App* command =
      program.add_subcommand("checkpoint", "look into checkpoints without their model");
  command->require_subcommand(1);
  const std::vector<Subcommand> subcommands = {
      add_list(*command, *flags),  add_show(*command, *flags), add_verify(*command, *flags),
      add_read(*command, *flags),  add_diff(*command, *flags), add_export(*command, *flags),
      add_forget(*command, *flags)};
  return [flags, subcommands]() -> absl::StatusOr<int> {
    for (const Subcommand& subcommand : subcommands) {
      if (subcommand.app->parsed()) return subcommand.run(*flags);
    }
    return kExitUsage;
  };
}

}  // namespace millrace
