#include "tools/checkpoint/checkpoint_report.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "checkpoint/folder/content_digests.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/format/tensor_type.h"
#include "checkpoint/inspect/table_scan.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Manifest = CheckpointManifest;

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string lower(const std::string& name) { return absl::AsciiStrToLower(name); }

std::vector<std::string> part_names(const Manifest& manifest) {
  std::vector<std::string> names;
  for (const int part : manifest.parts()) {
    names.push_back(lower(Manifest::Part_Name(static_cast<Manifest::Part>(part))));
  }
  return names;
}

int64_t count_tombstones(const Manifest& manifest, const std::string& table) {
  const std::string name = absl::StrCat("table/", table, "/tombstones");
  int64_t count = 0;
  for (const auto& file : manifest.files()) {
    for (const auto& tensor : file.tensors()) {
      if (tensor.name() == name) count += tensor.shape(0);
    }
  }
  return count;
}

std::string digest_of(const Manifest& manifest, const std::string& name) {
  for (const auto& digest : manifest.content_digests()) {
    if (digest.name() == name) return digest.digest();
  }
  return "";
}

std::string combined_digest(const Manifest& manifest) {
  return format_digest(combined_content_digest(manifest));
}

int64_t tensor_size(const Manifest::Tensor& tensor) {
  const auto type = tensor_type_of_name(tensor.dtype());
  const std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  return type ? tensor_bytes(*type, shape).value_or(0) : 0;
}

Json base_json(const Manifest& manifest) {
  if (!manifest.has_base()) return nullptr;
  const Manifest::Base& base = manifest.base();
  return {{"step", base.step()}, {"digest", base.digest()}, {"depth", base.depth()}};
}

Json metrics_json(const Manifest& manifest) {
  Json json = Json::object();
  for (const auto& metric : manifest.metrics()) json[metric.name()] = metric.value();
  return json;
}

Json progress_json(const Manifest::Progress& progress) {
  return {{"step", progress.step()},
          {"examples", progress.examples()},
          {"epoch", progress.epoch()},
          {"window", progress.window()},
          {"skipped_steps", progress.skipped_steps()},
          {"skipped_examples", progress.skipped_examples()},
          {"elapsed_seconds", progress.elapsed_seconds()}};
}

Json tables_json(const Manifest& manifest) {
  Json tables = Json::object();
  for (const auto& table : manifest.tables()) {
    Json slots = Json::array();
    for (const auto& slot : table.slots()) {
      slots.push_back({{"name", slot.name()}, {"size", slot.size()}});
    }
    tables[table.name()] = {{"rows", table.rows()},
                            {"omitted_rows", table.omitted_rows()},
                            {"digest", digest_of(manifest, "table/" + table.name())},
                            {"state_digest", table.state_digest()},
                            {"dim", table.dim()},
                            {"dtype", table.dtype()},
                            {"slots", std::move(slots)},
                            {"applied_steps", table.applied_steps()},
                            {"evicted_log_begins", table.evicted_log_begins()},
                            {"rows_here", held_rows(manifest, table.name())},
                            {"tombstones", count_tombstones(manifest, table.name())}};
  }
  return tables;
}

Json tensors_json(const Manifest& manifest) {
  Json tensors = Json::array();
  for (const auto& file : manifest.files()) {
    for (const auto& tensor : file.tensors()) {
      tensors.push_back(
          {{"name", tensor.name()},
           {"dtype", tensor.dtype()},
           {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
           {"file", file.name()},
           {"offset", tensor.offset()},
           {"size", tensor_size(tensor)}});
    }
  }
  return tensors;
}

Json files_json(const Manifest& manifest) {
  Json files = Json::array();
  for (const auto& file : manifest.files()) {
    files.push_back({{"name", file.name()},
                     {"kind", lower(Manifest::FileKind_Name(file.kind()))},
                     {"rank", file.rank()},
                     {"size", file.size()},
                     {"digest", file.digest()}});
    if (file.kind() != Manifest::TABLE_FILE) continue;
    files.back()["table"] = file.table();
    files.back()["first_hash"] = file.first_hash();
    files.back()["last_hash"] = file.last_hash();
  }
  return files;
}

Json left_out_json(const Manifest& manifest) {
  return std::vector<std::string>(manifest.left_out().begin(), manifest.left_out().end());
}

Json referred_json(const Manifest& manifest) {
  Json files = Json::array();
  for (const auto& file : manifest.referred_files()) {
    files.push_back(
        {{"path", file.path()},
         {"size", file.size()},
         {"digest", file.digest()},
         {"used_by", std::vector<std::string>(file.used_by().begin(), file.used_by().end())}});
  }
  return files;
}

Json train_columns_json(const Manifest& manifest) {
  Json columns = Json::array();
  for (const DataIdentity::Column& column : manifest.train_columns()) {
    columns.push_back({{"name", column.name()},
                       {"cells", lower(DataIdentity::Cells_Name(column.cells()))},
                       {"file", column.file()}});
  }
  return columns;
}

Json best_json(const Manifest& manifest) {
  if (!manifest.has_best()) return nullptr;
  const Manifest::BestScore& best = manifest.best();
  return {{"of", best.score()}, {"score", best.value()}, {"step", best.step()}};
}

std::string metrics_text(const Manifest& manifest) {
  return absl::StrJoin(manifest.metrics(), ", ", [](std::string* text, const auto& metric) {
    absl::StrAppendFormat(text, "%s %.5g", metric.name(), metric.value());
  });
}

std::string progress_text(const Manifest::Progress& progress) {
  std::string text =
      absl::StrCat("step ", progress.step(), ", ", progress.examples(), " examples, epoch ",
                   progress.epoch(), ", window ", progress.window());
  if (progress.skipped_steps() > 0) {
    absl::StrAppend(&text, ", ", progress.skipped_steps(), " steps skipped");
  }
  absl::StrAppendFormat(&text, "; %.1f s of training", progress.elapsed_seconds());
  return text;
}

std::string tables_text(const Manifest& manifest) {
  std::vector<TextTable::Column> columns = {
      {"table"}, {"rows", TextTable::kRight}, {"dim", TextTable::kRight}, {"dtype"}, {"slots"},
      {"digest"}};
  // The table has these columns only if a checkpoint needs them, so that lines stay short.
  if (manifest.has_base()) {
    columns.push_back({"rows here", TextTable::kRight});
    columns.push_back({"tombstones", TextTable::kRight});
  }
  const bool omits = std::any_of(manifest.tables().begin(), manifest.tables().end(),
                                 [](const auto& table) { return table.omitted_rows() > 0; });
  if (omits) columns.push_back({"omitted rows", TextTable::kRight});
  TextTable text(columns);
  for (const auto& table : manifest.tables()) {
    std::vector<std::string> cells = {table.name(),
                                      absl::StrCat(table.rows()),
                                      absl::StrCat(table.dim()),
                                      table.dtype(),
                                      absl::StrJoin(table.slots(), " ",
                                                    [](std::string* out, const auto& slot) {
                                                      absl::StrAppend(out, slot.name(), "[",
                                                                      slot.size(), "]");
                                                    }),
                                      digest_of(manifest, "table/" + table.name())};
    if (manifest.has_base()) {
      cells.push_back(absl::StrCat(held_rows(manifest, table.name())));
      cells.push_back(absl::StrCat(count_tombstones(manifest, table.name())));
    }
    if (omits) cells.push_back(absl::StrCat(table.omitted_rows()));
    text.add(std::move(cells));
  }
  return text.empty() ? "" : "\n" + text.text();
}

std::string dense_text(const Manifest& manifest) {
  TextTable text({{"dense tensor"}, {"dtype"}, {"shape"}});
  for (const auto& file : manifest.files()) {
    if (file.kind() != Manifest::DENSE_FILE) continue;
    for (const auto& tensor : file.tensors()) {
      text.add({tensor.name(), tensor.dtype(),
                absl::StrCat("[", absl::StrJoin(tensor.shape(), ", "), "]")});
    }
  }
  return text.empty() ? "" : "\n" + text.text();
}

std::string files_text(const Manifest& manifest) {
  TextTable text({{"file"}, {"size", TextTable::kRight}, {"digest"}});
  for (const auto& file : manifest.files()) {
    text.add({file.name(), bytes_text(file.size()), file.digest()});
  }
  return "\n" + text.text();
}

// Returns the problem of a listed checkpoint's base, or null.
std::string base_problem(const ListedCheckpoint& listed,
                         const std::map<int64_t, const ListedCheckpoint*>& whole) {
  const Manifest::Base& base = listed.reader->manifest().base();
  const auto found = whole.find(base.step());
  if (found == whole.end()) {
    return absl::StrCat(listed.path, " is a delta on step ", base.step(),
                        ", which is missing or damaged");
  }
  const Manifest& manifest = found->second->reader->manifest();
  const int depth = manifest.has_base() ? manifest.base().depth() : 0;
  if (manifest.digest() == base.digest() && depth + 1 == base.depth()) return "";
  return absl::StrCat(listed.path, " is a delta; ", found->second->path, " is another checkpoint");
}

}  // namespace

std::string parts_text(const CheckpointManifest& manifest) {
  bool only_model = true;
  for (const int part : manifest.parts()) {
    only_model = only_model && (part == Manifest::DENSE || part == Manifest::ROWS);
  }
  if (manifest.parts().empty()) return "none";
  const bool all = manifest.parts_size() == Manifest::Part_MAX;
  const std::string kind = only_model ? "model"
                           : all      ? "full"
                                      : absl::StrJoin(part_names(manifest), "+");
  const int left_out = manifest.left_out_size();
  return left_out == 0 ? kind : absl::StrCat(kind, " without ", left_out);
}

void check_bases(std::vector<ListedCheckpoint>& checkpoints) {
  std::map<int64_t, const ListedCheckpoint*> whole;
  for (ListedCheckpoint& listed : checkpoints) {
    if (listed.reader == nullptr) continue;
    if (listed.reader->manifest().has_base()) {
      const std::string problem = base_problem(listed, whole);
      if (!problem.empty()) {
        listed.status = absl::DataLossError(problem);
        listed.reader = nullptr;
        continue;
      }
    }
    whole[listed.step] = &listed;
  }
}

std::string list_text(const std::vector<ListedCheckpoint>& checkpoints) {
  if (checkpoints.empty()) return "no checkpoints\n";
  TextTable table({{"step", TextTable::kRight},
                   {"saved"},
                   {"size", TextTable::kRight},
                   {"parts"},
                   {"base", TextTable::kRight},
                   {"metrics"},
                   {"status"}});
  for (const ListedCheckpoint& listed : checkpoints) {
    const std::string step = absl::StrCat(listed.step);
    if (listed.reader == nullptr) {
      table.add({step, "", "", "", "", "", absl::StrCat("damaged: ", listed.status.message())});
      continue;
    }
    const Manifest& manifest = listed.reader->manifest();
    table.add({step, manifest.created(), bytes_text(total_bytes(manifest)), parts_text(manifest),
               manifest.has_base() ? absl::StrCat(manifest.base().step()) : "-",
               metrics_text(manifest), "complete, not read"});
  }
  return table.text();
}

std::string list_json(const std::vector<ListedCheckpoint>& checkpoints) {
  Json list = Json::array();
  for (const ListedCheckpoint& listed : checkpoints) {
    Json entry = {{"step", listed.step}, {"path", listed.path}};
    const bool whole = listed.reader != nullptr;
    entry["status"] = whole ? "ok" : "damaged";
    entry["error"] = std::string(listed.status.message());
    if (whole) {
      const Manifest& manifest = listed.reader->manifest();
      entry["created"] = manifest.created();
      entry["finished"] = manifest.finished();
      entry["size"] = total_bytes(manifest);
      entry["parts"] = part_names(manifest);
      entry["left_out"] = left_out_json(manifest);
      entry["base"] = base_json(manifest);
      entry["metrics"] = metrics_json(manifest);
      entry["content_digest"] = combined_digest(manifest);
    }
    list.push_back(std::move(entry));
  }
  return dump(list);
}

std::string show_text(const CheckpointReader& checkpoint) {
  const Manifest& manifest = checkpoint.manifest();
  std::string text = absl::StrCat("checkpoint ", checkpoint.directory(), "\n");
  auto line = [&](absl::string_view name, absl::string_view value) {
    if (!value.empty()) absl::StrAppendFormat(&text, "%-12s%s\n", name, value);
  };
  line("progress",
       absl::StrCat(progress_text(manifest.progress()), manifest.finished() ? "; finished" : ""));
  line("saved", absl::StrCat(manifest.created(), manifest.created().empty() ? "" : ", ", "by ",
                             manifest.world_size(), manifest.world_size() == 1 ? " rank" : " ranks",
                             manifest.producer().empty() ? "" : " of ", manifest.producer()));
  line("size", absl::StrCat(bytes_text(total_bytes(manifest)), " in ", manifest.files_size(),
                            " files, format version ", manifest.format_version()));
  line("parts",
       absl::StrCat(parts_text(manifest), " (", absl::StrJoin(part_names(manifest), ", "), ")"));
  line("left out", absl::StrJoin(manifest.left_out(), ", "));
  if (manifest.has_base()) {
    line("delta on", absl::StrCat("step ", manifest.base().step(), ", in a chain of ",
                                  manifest.base().depth()));
  }
  line("metrics", metrics_text(manifest));
  if (manifest.has_best()) {
    line("best score", absl::StrFormat("%.5g at step %d (%s)", manifest.best().value(),
                                       manifest.best().step(), manifest.best().score()));
  }
  line("job", manifest.fingerprint());
  line("content", combined_digest(manifest));
  for (const auto& digest : manifest.content_digests()) {
    if (!absl::StartsWith(digest.name(), "table/")) {
      line("  " + digest.name(), digest.digest());
    }
  }
  return absl::StrCat(text, tables_text(manifest), dense_text(manifest), files_text(manifest));
}

std::string show_json(const CheckpointReader& checkpoint) {
  const Manifest& manifest = checkpoint.manifest();
  Json digests = Json::object();
  for (const auto& digest : manifest.content_digests()) digests[digest.name()] = digest.digest();
  const Json json = {{"path", checkpoint.directory()},
                     {"format_version", manifest.format_version()},
                     {"digest", manifest.digest()},
                     {"producer", manifest.producer()},
                     {"created", manifest.created()},
                     {"progress", progress_json(manifest.progress())},
                     {"finished", manifest.finished()},
                     {"world_size", manifest.world_size()},
                     {"parts", part_names(manifest)},
                     {"left_out", left_out_json(manifest)},
                     {"base", base_json(manifest)},
                     {"metrics", metrics_json(manifest)},
                     {"best", best_json(manifest)},
                     {"content_digest", combined_digest(manifest)},
                     {"content_digests", std::move(digests)},
                     {"size", total_bytes(manifest)},
                     {"tables", tables_json(manifest)},
                     {"tensors", tensors_json(manifest)},
                     {"files", files_json(manifest)},
                     {"referred_files", referred_json(manifest)},
                     {"train_columns", train_columns_json(manifest)},
                     {"fingerprint", manifest.fingerprint()},
                     {"config", manifest.config()}};
  return dump(json);
}

}  // namespace millrace
