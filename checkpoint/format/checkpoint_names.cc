#include "checkpoint/format/checkpoint_names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/random/random_hex.h"

namespace millrace {
namespace {

struct Ending {
  CheckpointName::Kind kind;
  const char* text;
};

constexpr Ending kEndings[] = {{CheckpointName::Kind::kTemporary, ".tmp-"},
                               {CheckpointName::Kind::kOld, ".old-"},
                               {CheckpointName::Kind::kRemoved, ".removed-"}};

std::string numbered(absl::string_view stem, int64_t index, int64_t count,
                     absl::string_view extension) {
  return absl::StrFormat("%s-%05d-of-%05d.%s", stem, index, count, extension);
}

constexpr char kAverage[] = "/average";
constexpr char kAverageUpdates[] = "/average_updates";

}  // namespace

std::string average_name(absl::string_view parameter) {
  return absl::StrCat(kOptimizerPrefix, parameter, kAverage);
}

bool is_of_average(absl::string_view tensor) {
  return absl::StartsWith(tensor, kOptimizerPrefix) &&
         (absl::EndsWith(tensor, kAverage) || absl::EndsWith(tensor, kAverageUpdates));
}

bool is_of_model(absl::string_view tensor) {
  return !absl::StartsWith(tensor, kOptimizerPrefix) || absl::EndsWith(tensor, kAverage);
}

std::string checkpoint_name(int64_t step) { return absl::StrFormat("step-%08d", step); }

std::string checkpoint_name(int64_t step, CheckpointName::Kind kind, absl::string_view nonce) {
  std::string name = checkpoint_name(step);
  for (const Ending& ending : kEndings) {
    if (ending.kind == kind) absl::StrAppend(&name, ending.text, nonce);
  }
  return name;
}

std::optional<CheckpointName> parse_checkpoint_name(absl::string_view name) {
  CheckpointName parsed;
  absl::string_view stem = name.substr(0, name.find('.'));
  absl::string_view digits = stem;
  if (!absl::ConsumePrefix(&digits, "step-") || !absl::SimpleAtoi(digits, &parsed.step) ||
      parsed.step < 0 || checkpoint_name(parsed.step) != stem) {
    return std::nullopt;
  }
  if (stem.size() == name.size()) return parsed;
  for (const Ending& ending : kEndings) {
    absl::string_view nonce = name.substr(stem.size());
    if (!absl::ConsumePrefix(&nonce, ending.text) || !is_nonce(nonce)) continue;
    parsed.kind = ending.kind;
    return parsed;
  }
  return std::nullopt;
}

bool is_nonce(absl::string_view nonce) {
  return !nonce.empty() && nonce.size() <= 64 &&
         std::all_of(nonce.begin(), nonce.end(), [](char c) { return absl::ascii_isalnum(c); });
}

std::string new_nonce() { return random_hex(16); }

bool is_table_name(absl::string_view name) {
  auto may_be = [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), may_be);
}

std::string dense_file_name(int64_t index, int64_t count) {
  return numbered("dense", index, count, "safetensors");
}

std::string table_file_name(absl::string_view table, int64_t index, int64_t count) {
  return numbered(absl::StrCat("table-", table), index, count, "safetensors");
}

std::string state_file_name(int64_t rank, int64_t world_size) {
  return numbered("state", rank, world_size, "pb");
}

std::string chunks_file_name(int64_t rank, int64_t world_size) {
  return numbered("chunks", rank, world_size, "xxh");
}

}  // namespace millrace
