#include "tools/look/look_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/utf8/characters.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kNameBytes = 12;  // of a name at least
constexpr size_t kLineBytes = 80;
constexpr size_t kPathBytes = 48;
constexpr size_t kMaxFiles = 50;

// Returns a line of at most kLineBytes; "~" marks the cut.
std::string line_of(const std::string& text) {
  return absl::StrCat(short_names({text}, kLineBytes)[0], "\n");
}

// Returns `what` and the items, in lines of at most kLineBytes.
std::string list_text(absl::string_view what, const std::vector<std::string>& items) {
  std::string text, line(what);
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = absl::StrCat(" ", items[i], i + 1 < items.size() ? "," : "");
    if (line.size() + item.size() > kLineBytes) {
      absl::StrAppend(&text, line, "\n");
      line = " ";
    }
    absl::StrAppend(&line, item);
  }
  return absl::StrCat(text, line, "\n");
}

// Returns three digits in at most seven characters: "0.123", "12.3", "881M".
std::string number_text(double number) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  const double size = std::abs(number);
  if (size >= 1e15 || (size > 0 && size < 0.001)) return absl::StrFormat("%.0e", number);
  for (const auto& [unit, name] : kUnits) {
    if (size >= 0.9995 * unit) return absl::StrFormat("%.3g%s", number / unit, name);
  }
  return absl::StrFormat("%.3g", number);
}

std::string share_text(double share) {
  const double percent = 100 * share;
  return absl::StrFormat(percent < 10 ? "%.2f" : percent < 99.95 ? "%.1f" : "%.0f", percent);
}

bool is_exact(const ColumnLook& column) {
  return column.estimated_distinct == static_cast<double>(column.distinct);
}

std::string kind_text(const ColumnLook& column) {
  if (column.is_boolean) return "bool";
  if (column.holds_dates) return "date";
  switch (column.kind) {
    case ValueKind::kInteger: return "int";
    case ValueKind::kNumber: return "float";
    case ValueKind::kText: return "text";
    case ValueKind::kUnreadable: break;
  }
  return "-";
}

// Returns the notes on a column below the table. `lists_split`: csv.list_delimiter can split lists.
std::string notes_text(const ColumnLook& column, const std::string& name, bool lists_split) {
  std::vector<std::string> notes;
  if (column.kind == ValueKind::kUnreadable) {
    notes.push_back(absl::StrCat("not read: ", name, ": ", column.type_name));
  }
  if (column.equals_label) {
    notes.push_back(absl::StrCat("equals the label in every row: ", name, ": leave it out"));
  }
  if (!column.label_tie.empty()) {
    notes.push_back(absl::StrCat(
        "gives the label away: ", name, ": ", column.label_tie,
        column.is_second_label ? ": leave it out, or make it a second label" : ": leave it out"));
  }
  if (column.is_mixed) notes.push_back(absl::StrCat("mixed: ", name, ": ", column.type_name));
  std::vector<std::string> missing;
  for (const auto& [cell, count] : column.missing_texts) {
    const bool has_blanks = absl::StripAsciiWhitespace(cell).size() < cell.size();
    const char* const quote = has_blanks ? "\"" : "";
    missing.push_back(absl::StrCat(quote, cell, quote, " in ", count));
  }
  if (!missing.empty()) missing.back() += " cells";
  if (column.not_a_number > 0) {
    missing.push_back(absl::StrCat(column.not_a_number, " not-a-number"));
  }
  if (!missing.empty()) {
    notes.push_back(absl::StrCat("missing: ", name, ": ", absl::StrJoin(missing, ", ")));
  }
  if (!column.decimal_comma.empty()) {
    notes.push_back(
        absl::StrCat("text for its decimal commas: ", name, ": such as ", column.decimal_comma));
  }
  if (!column.near_number.empty()) {
    notes.push_back(absl::StrCat("text for its percent signs, commas or blanks: ", name,
                                 ": such as ", column.near_number));
  }
  if (column.odd_cells > 0) {
    notes.push_back(
        absl::StrCat("text for cells that are no numbers: ", name, ": ", odd_cells_text(column)));
  }
  if (!column.long_integer.empty()) {
    notes.push_back(
        absl::StrCat("text, being beyond int64: ", name, ": such as ", column.long_integer));
  }
  if (!column.list_cell.empty()) {
    const std::string set = absl::StrCat("set csv.list_delimiter: \"",
                                         absl::string_view(&column.list_delimiter, 1), "\"");
    notes.push_back(absl::StrCat("lists in cells: ", name, ": such as ", column.list_cell, ": ",
                                 lists_split ? set : "text: no csv.list_delimiter fits all"));
  }
  if (column.holds_dates && !column.quantiles.empty()) {
    notes.push_back(absl::StrFormat("dates: %s: %.0f to %.0f", name, column.min, column.max));
  }
  std::string text;
  for (const std::string& note : notes) absl::StrAppend(&text, line_of(note));
  return text;
}

std::string table_text(const std::vector<ColumnLook>& columns,
                       const std::vector<std::string>& names) {
  TextTable table({{"column"},
                   {"type"},
                   {"null", TextTable::kRight},
                   {"values", TextTable::kRight},
                   {"top1", TextTable::kRight},
                   {"min", TextTable::kRight},
                   {"mean", TextTable::kRight},
                   {"sd", TextTable::kRight},
                   {"max", TextTable::kRight},
                   {"len", TextTable::kRight}});
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnLook& column = columns[i];
    if (column.kind == ValueKind::kUnreadable) {
      table.add({names[i], "-", "", "", "", "", "", "", "", ""});
      continue;
    }
    const bool has_numbers = !column.quantiles.empty() && !column.holds_dates;
    table.add({names[i], kind_text(column), share_text(column.missing_share()),
               absl::StrCat(is_exact(column) ? "" : "~", number_text(column.estimated_distinct)),
               share_text(column.top_share), has_numbers ? number_text(column.min) : "",
               has_numbers ? number_text(column.mean) : "",
               has_numbers ? number_text(column.standard_deviation) : "",
               has_numbers ? number_text(column.max) : "",
               column.max_length > 1 ? number_text(static_cast<double>(column.max_length)) : ""});
  }
  return table.text();
}

std::string columns_text(const FileSetLook& look) {
  std::vector<std::string> names;
  for (const ColumnLook& column : look.columns) {
    names.push_back(column.name.empty() ? "(no name)" : column.name);
  }
  // Names get the rest of a line after the other columns. The title of the last column ends the
  // first line.
  const std::string without_names =
      table_text(look.columns, std::vector<std::string>(names.size()));
  const size_t others = without_names.find('\n') - absl::string_view("column").size();
  names = short_names(names, std::max(kNameBytes, kLineBytes - std::min(kLineBytes, others)));
  std::string text = table_text(look.columns, names);
  std::vector<std::string> partitions, blanks;
  const bool lists_split = common_list_delimiter(look) != 0;
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&text, notes_text(look.columns[i], names[i], lists_split));
    if (look.columns[i].is_partition) partitions.push_back(names[i]);
    if (look.columns[i].has_blanks) blanks.emplace_back(absl::StripAsciiWhitespace(names[i]));
  }
  if (!blanks.empty()) {
    absl::StrAppend(
        &text, list_text("blanks around cells or names:", blanks),
        "numbers are read without these blanks; text and names keep them: remove them\n");
  }
  return partitions.empty() ? text : absl::StrCat(text, list_text("partition:", partitions));
}

std::string set_text(absl::string_view what, const FileSetLook& look) {
  std::string text = absl::StrFormat("%s: %s, %d file%s, %d rows, %d columns\n", what, look.format,
                                     look.files.size(), look.files.size() == 1 ? "" : "s",
                                     look.rows, look.columns.size());
  if (look.sampled_rows == look.rows) return text;
  return absl::StrCat(text, "sample: ", look.sampled_rows,
                      " rows, evenly spread; ~ marks an estimate for all rows\n");
}

std::string rule_text(const LabelRule& rule) {
  return rule.at_least ? absl::StrFormat("%s>=%g", rule.column, *rule.at_least) : rule.column;
}

std::string count_text(const LabelCount& count) {
  std::string text = absl::StrFormat("%s %% of %d are 1", share_text(count.rate()), count.rows);
  if (count.others > 0) absl::StrAppend(&text, ", ", count.others, " are neither 0 nor 1");
  return text;
}

std::string label_text(absl::string_view what, const LabelRule& rule, const FileSetLook& look) {
  std::string text = absl::StrCat(what, " ", rule_text(rule), ": ", count_text(look.label), "\n");
  if (look.files.size() == 1) return text;
  std::vector<std::string> paths;
  for (const FileLook& file : look.files) paths.push_back(file.path);
  const bool is_long = std::any_of(
      paths.begin(), paths.end(), [](const std::string& path) { return path.size() > kPathBytes; });
  if (is_long) paths = short_names(without_common_directories(std::move(paths)), kPathBytes);
  for (size_t i = 0; i < look.files.size() && i < kMaxFiles; ++i) {
    absl::StrAppend(&text, "  ", paths[i], ": ", count_text(look.files[i].label), "\n");
  }
  if (look.files.size() > kMaxFiles) {
    absl::StrAppend(&text, "  and ", look.files.size() - kMaxFiles, " more files\n");
  }
  return text;
}

Json label_json(const LabelCount& count) {
  return {{"rows", count.rows},
          {"positives", count.positives},
          {"others", count.others},
          {"rate", count.rate()}};
}

Json column_json(const ColumnLook& column) {
  Json json = {{"name", column.name},
               {"type", column.type_name},
               {"kind", std::string(name_of(column.kind))}};
  if (column.kind == ValueKind::kUnreadable) return json;
  json["null_share"] = column.missing_share();
  json["distinct"] = column.distinct;
  json["distinct_estimate"] = column.estimated_distinct;
  json["top_share"] = column.top_share;
  json["top_ten_share"] = column.top_ten_share;
  json["max_length"] = column.max_length;
  json["mean_length"] = column.mean_length;
  if (column.is_boolean) json["boolean"] = true;
  if (column.equals_label) json["equals_label"] = true;
  if (!column.label_tie.empty()) json["label_tie"] = column.label_tie;
  if (column.is_second_label) json["second_label"] = true;
  if (column.has_blanks) json["blanks"] = true;
  if (column.holds_dates) json["dates"] = true;
  if (!column.missing_texts.empty()) json["missing_texts"] = column.missing_texts;
  if (!column.decimal_comma.empty()) json["decimal_comma"] = column.decimal_comma;
  if (!column.near_number.empty()) json["near_number"] = column.near_number;
  if (column.odd_cells > 0) {
    json["odd_cells"] = column.odd_cells;
    json["odd_texts"] = column.odd_texts;
  }
  if (!column.long_integer.empty()) json["long_integer"] = column.long_integer;
  if (!column.list_cell.empty()) {
    json["list_cell"] = column.list_cell;
    json["list_delimiter"] = std::string(1, column.list_delimiter);
  }
  if (column.not_a_number > 0) json["not_a_number"] = column.not_a_number;
  if (column.quantiles.empty()) return json;
  json["min"] = column.min;
  json["mean"] = column.mean;
  json["standard_deviation"] = column.standard_deviation;
  json["max"] = column.max;
  json["not_finite"] = column.not_finite;
  json["not_a_number"] = column.not_a_number;
  return json;
}

Json set_json(const FileSetLook& look, bool has_label) {
  Json files = Json::array(), columns = Json::array();
  for (const FileLook& file : look.files) {
    Json json = {{"path", file.path}, {"rows", file.rows}, {"sampled_rows", file.sampled_rows}};
    if (has_label) json["label"] = label_json(file.label);
    files.push_back(std::move(json));
  }
  for (const ColumnLook& column : look.columns) columns.push_back(column_json(column));
  Json json = {{"format", look.format},
               {"rows", look.rows},
               {"sampled_rows", look.sampled_rows},
               {"files", std::move(files)},
               {"columns", std::move(columns)}};
  if (has_label) json["label"] = label_json(look.label);
  return json;
}

}  // namespace

std::string look_text(const DataLook& look) {
  const FileSetLook& train = look.train;
  std::string text = set_text("data", train);
  absl::StrAppend(&text, "null and top1 (share of the most frequent value) in %\n\n",
                  columns_text(train), "\n");
  if (look.label) absl::StrAppend(&text, label_text("label", *look.label, train));
  if (!look.label) absl::StrAppend(&text, "label: none named as one; give --label COLUMN\n");
  if (!look.eval) return text;
  absl::StrAppend(&text, "\n", set_text("eval", *look.eval));
  if (look.label) absl::StrAppend(&text, label_text("label", *look.label, *look.eval));
  const double share = static_cast<double>(look.leaked_rows) /
                       static_cast<double>(std::max<int64_t>(1, look.eval->sampled_rows));
  absl::StrAppend(&text, "leakage: ", train.sampled_rows == train.rows ? "" : "at least ",
                  share_text(share), " % of ", look.eval->sampled_rows,
                  " evaluation rows are rows of the data too\n");
  return text;
}

std::string look_json(const DataLook& look) {
  Json json = {{"data", set_json(look.train, look.label.has_value())}};
  if (look.label) {
    json["label"] = {{"column", look.label->column}};
    if (look.label->at_least) json["label"]["at_least"] = *look.label->at_least;
  }
  if (look.eval) {
    json["eval"] = set_json(*look.eval, look.label.has_value());
    json["leaked_rows"] = look.leaked_rows;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

std::string on_one_line(std::string text) {
  for (char& c : text) c = absl::ascii_iscntrl(static_cast<unsigned char>(c)) ? ' ' : c;
  return text;
}

// Returns whole characters from the beginning of `text`, in at most `limit` bytes. REQUIRES: `text`
// is longer.
absl::string_view front_of(absl::string_view text, size_t limit) {
  while (limit > 0 && continues_character(text[limit])) --limit;
  return text.substr(0, limit);
}

// Returns the same from the end.
absl::string_view back_of(absl::string_view text, size_t limit) {
  size_t begin = text.size() - limit;
  while (begin < text.size() && continues_character(text[begin])) ++begin;
  return text.substr(begin);
}

}  // namespace

std::vector<std::string> short_names(absl::Span<const std::string> texts, size_t limit) {
  std::vector<std::string> names;
  absl::flat_hash_map<std::string, int64_t> counts;
  for (const std::string& text : texts) {
    std::string& name = names.emplace_back(on_one_line(text));
    const size_t front = (limit - 1) / 2;
    if (name.size() > limit) {
      name = absl::StrCat(front_of(name, front), "~", back_of(name, limit - 1 - front));
    }
    ++counts[name];
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (texts[i].size() <= limit || counts[names[i]] == 1) continue;
    const std::string number = absl::StrCat("~#", i + 1);
    const size_t front = limit - std::min(limit, number.size());
    names[i] = absl::StrCat(front_of(on_one_line(texts[i]), front), number);
  }
  return names;
}

std::vector<std::string> without_common_directories(std::vector<std::string> paths) {
  if (paths.empty()) return paths;
  absl::string_view common = paths[0];
  for (const std::string& path : paths) {
    const auto [end, other] = std::mismatch(common.begin(), common.end(), path.begin(), path.end());
    common = common.substr(0, end - common.begin());
  }
  const size_t slash = common.rfind('/');
  const size_t length = slash == absl::string_view::npos ? 0 : slash + 1;
  for (std::string& path : paths) path.erase(0, length);
  return paths;
}

}  // namespace millrace
