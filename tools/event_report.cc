#include "tools/event_report.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

std::string text(const Json& json, const char* field) {
  const auto found = json.find(field);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t number(const Json& json, const char* field) {
  const auto found = json.find(field);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

// Returns: none if the line is not an event.
std::optional<EventLine> parse_line(absl::string_view line) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  EventLine event;
  event.time = text(json, "time");
  event.kind = text(json, "kind");
  event.what = text(json, "what");
  if (event.time.empty() || event.kind.empty() || event.what.empty()) return std::nullopt;
  event.hook = text(json, "hook");
  event.detail = text(json, "detail");
  event.common = text(json, "scope") != "this_rank";
  event.step = number(json, "step");
  event.rank = number(json, "rank");
  event.world_size = number(json, "world_size");
  return event;
}

// Returns true if an invalid line is the beginning of an event, left by a killed process or a full
// disk.
bool is_torn(absl::string_view line, bool without_newline) {
  constexpr absl::string_view kBeginning = "{\"time\":\"";
  return without_newline ||
         (absl::StartsWith(line, kBeginning.substr(0, line.size())) && !absl::EndsWith(line, "}"));
}

// Returns a text on one line, since texts of users and libraries may span lines, with control
// characters escaped, since terminals obey them.
std::string one_line(absl::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += ' ';
    } else if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppend(&line, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    } else {
      line += c;
    }
  }
  return line;
}

absl::Status malformed(const std::string& path, int64_t number, absl::string_view line) {
  return absl::DataLossError(absl::StrCat(
      path, ":", number, ": this line is no event: ", one_line(line.substr(0, 60)),
      line.size() > 60 ? "…" : "",
      "; it was not written by a run, or was damaged since: remove it to read the rest"));
}

// Returns "06:59:01" for "2026-11-21T06:59:01.123Z"; other texts unchanged.
std::string time_of_day(const std::string& time) {
  return time.size() >= 19 && time[10] == 'T' ? time.substr(11, 8) : time;
}

std::string day_and_time(const std::string& time) {
  return time.size() >= 19 && time[10] == 'T'
             ? absl::StrCat(time.substr(0, 10), " ", time.substr(11, 8), " UTC")
             : time;
}

std::string quoted_detail(const EventLine& event) {
  if (event.what == "evaluate") return event.detail.empty() ? "all sets" : event.detail;
  return one_line(event.detail);
}

// Writes the paragraphs from events in order.
class Report {
 public:
  void add(const EventLine& event) {
    if (event.kind == "started") {
      start(event);
    } else if (event.kind == "requested") {
      asked_.push_back(event);
    } else if (event.kind == "served") {
      serve(event);
    } else if (event.kind == "ended") {
      end(event);
    } else if (event.kind == "opened" || event.kind == "closed") {
      line(event, event.what,
           absl::StrCat(one_line(event.detail), event.kind == "opened" ? ": begins" : ": ends"));
    } else if (event.kind == "evicted") {
      line(event, "evicted", absl::StrCat(one_line(event.what), ": ", one_line(event.detail)));
    } else if (event.kind == "refused") {
      line(event, "refused",
           absl::StrCat("nothing of the step was applied: ", one_line(event.detail)));
    } else if (event.kind == "tolerated" || event.kind == "failed") {
      fail(event);
    } else {
      line(event, absl::StrCat(event.kind, " ", event.what), one_line(event.detail));
    }
  }

  std::string finish() {
    close_run();
    return std::move(text_);
  }

 private:
  void start(const EventLine& event) {
    close_run();
    running_ = true;
    ranks_ = event.world_size;
    stopped_ = false;
    evaluated_at_ = -1;
    failure_.clear();
    if (runs_++ > 0) absl::StrAppend(&text_, "\n");
    absl::StrAppend(&text_, "run ", runs_, "  ", day_and_time(event.time), "  ", event.what);
    if (ranks_ > 0) absl::StrAppend(&text_, " on ", ranks_, ranks_ == 1 ? " rank" : " ranks");
    absl::StrAppend(&text_, ", from step ", event.step);
    if (!event.detail.empty()) absl::StrAppend(&text_, ", ", one_line(event.detail));
    absl::StrAppend(&text_, "\n");
  }

  void serve(const EventLine& event) {
    std::vector<std::string> askers;
    std::vector<EventLine> others;
    for (EventLine& asked : asked_) {
      if (!matches(asked, event)) {
        others.push_back(std::move(asked));
      } else {
        askers.push_back(asker(asked, event.step));
      }
    }
    asked_ = std::move(others);
    stopped_ |= event.what == "stop";
    // A request for all sets is served set by set.
    if (askers.empty() && event.what == "evaluate" && event.step == evaluated_at_) {
      askers = evaluation_askers_;
    } else if (event.what == "evaluate") {
      evaluation_askers_ = askers;
      evaluated_at_ = event.step;
    }
    if (askers.empty() && !event.hook.empty()) askers.push_back(asker(event, event.step));
    line(event, event.what,
         absl::StrCat(detail_column(event), askers.empty() ? "done" : "asked by ",
                      absl::StrJoin(askers, " and "), askers.empty() ? "" : ", served"));
  }

  static bool matches(const EventLine& asked, const EventLine& served) {
    if (asked.what != served.what) return false;
    if (asked.what == "evaluate" && !asked.detail.empty() && asked.detail != served.detail) {
      return false;
    }
    return served.hook.empty() || (served.hook == asked.hook && served.rank == asked.rank);
  }

  std::string asker(const EventLine& asked, int64_t served_at) const {
    std::string text = asked.hook.empty() ? "the trainer" : asked.hook;
    if (!asked.common) absl::StrAppend(&text, " of rank ", asked.rank);
    if (asked.step != served_at) absl::StrAppend(&text, " at step ", asked.step);
    return text;
  }

  void fail(const EventLine& event) {
    std::string where = event.hook.empty() ? "" : absl::StrCat("hook ", event.hook, " ");
    absl::StrAppend(&where, "in ", event.what);
    // Errors of hooks begin with the same words.
    const absl::string_view error = absl::StripPrefix(event.detail, absl::StrCat(where, ": "));
    const bool failed = event.kind == "failed";
    if (failed && event.hook.empty() && event.what == "run") {
      line(event, "failed", one_line(error));
    } else {
      if (ranks_ != 1) absl::StrAppend(&where, " on rank ", event.rank);
      line(event, failed ? "failed" : "error",
           absl::StrCat(where, ": ", one_line(error), failed ? "" : " (the run went on)"));
    }
    if (failed) failure_ = event.detail;
  }

  void end(const EventLine& event) {
    drop_unserved();
    // A failure that was just reported is not repeated.
    const bool told = event.what == "failed" && event.detail == failure_;
    line(event, told ? "ended" : event.what, told ? "" : one_line(event.detail));
    running_ = false;
  }

  // Ends the paragraph of a run that ended or was killed.
  void close_run() {
    drop_unserved();
    if (running_) {
      absl::StrAppend(&text_, "  no end: the process was killed, or the run still goes on\n");
    }
    running_ = false;
  }

  void drop_unserved() {
    for (const EventLine& asked : asked_) {
      if (asked.what == "stop" && stopped_) continue;  // a served stop needs no further action
      line(asked, asked.what,
           absl::StrCat(detail_column(asked), "asked by ", asker(asked, asked.step),
                        ", not served"));
    }
    asked_.clear();
  }

  static std::string detail_column(const EventLine& event) {
    const std::string detail = quoted_detail(event);
    return detail.empty() ? "" : absl::StrCat(detail, ": ");
  }

  void line(const EventLine& event, absl::string_view what, absl::string_view rest) {
    std::string line = absl::StrFormat("  %s  step %-7d  %-10s  %s", time_of_day(event.time),
                                       event.step, what, rest);
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text_, line, "\n");
  }

  std::string text_;
  int runs_ = 0;
  int64_t ranks_ = 0;
  bool running_ = false;
  std::vector<EventLine> asked_;                // not yet served
  bool stopped_ = false;                        // a stop was served
  std::vector<std::string> evaluation_askers_;  // of the last evaluation
  int64_t evaluated_at_ = -1;                   // its step
  std::string failure_;                         // the last failure
};

}  // namespace

absl::StatusOr<EventHistory> read_event_history(FileSystem& files, const std::string& path) {
  absl::StatusOr<std::string> text = read_file(files, path);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        "there is no ", path,
        ": give the output directory (run.output_dir) of a run that began its first step"));
  }
  RETURN_IF_ERROR(text.status());
  const std::vector<absl::string_view> lines = absl::StrSplit(*text, '\n');
  EventHistory history;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    std::optional<EventLine> event = parse_line(lines[i]);
    if (event.has_value()) {
      history.events.push_back(*std::move(event));
    } else if (is_torn(lines[i], i + 1 == lines.size())) {
      history.torn_lines.push_back(static_cast<int64_t>(i) + 1);
    } else {
      return malformed(path, static_cast<int64_t>(i) + 1, lines[i]);
    }
  }
  return history;
}

std::string event_report(const EventHistory& history) {
  Report report;
  for (const EventLine& event : history.events) report.add(event);
  std::string text = report.finish();
  for (int64_t line : history.torn_lines) {
    absl::StrAppend(
        &text, "line ", line,
        " is unfinished: the process was killed, or the disk was full, while it was written\n");
  }
  return text;
}

}  // namespace millrace
