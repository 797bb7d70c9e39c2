#include "checkpoint/bank/bank_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text.h"
#include "checkpoint/bank/model_bank_check.h"
#include "optim/name_pattern.h"

namespace millrace {
namespace {

using Patterns = google::protobuf::RepeatedPtrField<std::string>;

// Returns true if a pattern fits the name or its owner: a pattern for parameters and tables also
// covers their slots.
bool matches_with_slots(absl::string_view name, const Patterns& patterns) {
  return matches_any(name, patterns) || matches_any(owner_of(name), patterns);
}

SourceConfig::Part part_of(BankItem::Kind kind) {
  switch (kind) {
    case BankItem::kOptimizer: return SourceConfig::DENSE_OPTIMIZER;
    case BankItem::kSlot: return SourceConfig::SLOTS;
    case BankItem::kAdmission: return SourceConfig::PROGRESS;
    default: return SourceConfig::WEIGHTS;
  }
}

// Returns the name that a fitting rule gives to `name`.
std::string renamed(absl::string_view name, const RenameConfig& rule) {
  const size_t star = rule.from().find('*');
  if (star == std::string::npos) return rule.to();
  const absl::string_view text =
      name.substr(star, name.size() - (rule.from().size() - 1));  // the text that * matches
  const size_t to = rule.to().find('*');
  return absl::StrCat(rule.to().substr(0, to), text, rule.to().substr(to + 1));
}

std::vector<std::string> names_of(const std::vector<BankItem>& items) {
  std::vector<std::string> names;
  for (const BankItem& item : items) names.push_back(item.name);
  return names;
}

class Planner {
 public:
  Planner(const ModelBankConfig& config, const SourceItems& sources,
          const std::vector<BankItem>& model)
      : config_(config), sources_(sources), model_(model), known_(names_of(model)) {
    for (const BankItem& item : model) by_name_[item.name] = &item;
  }

  absl::StatusOr<BankPlan> run(bool all) {
    for (int s = 0; s < config_.source_size(); ++s) {
      if (sources_[s].has_value()) plan_source(s);
    }
    drop_overridden();
    check_missing(all);
    if (lines_.empty()) return std::move(plan_);
    return absl::InvalidArgumentError(absl::StrCat(
        "the model bank does not fit, in ", lines_.size(),
        lines_.size() == 1 ? " point: " : " points:\n  ", absl::StrJoin(lines_, "\n  ")));
  }

 private:
  void say(int source, absl::string_view what) {
    lines_.push_back(
        absl::StrCat("source ", source, " (", config_.source(source).path(), "): ", what));
  }

  bool selected(const SourceConfig& source, const BankItem& item) const {
    if (!gives(source, part_of(item.kind))) return false;
    // Counts also belong to the slots.
    if (item.kind == BankItem::kAdmission && !gives(source, SourceConfig::SLOTS)) return false;
    return (source.load().empty() || matches_with_slots(item.name, source.load())) &&
           !matches_with_slots(item.name, source.exclude());
  }

  void check_patterns(int s, absl::string_view field, const Patterns& patterns,
                      const std::vector<std::string>& names) {
    for (const std::string& pattern : patterns) {
      if (!fits_any(pattern, names)) {
        say(s, absl::StrCat(field, " \"", pattern, "\" matches nothing",
                            did_you_mean(pattern, names)));
      }
    }
  }

  void check_rules(int s) {
    const SourceConfig& source = config_.source(s);
    const std::vector<std::string> names = names_of(*sources_[s]);
    check_patterns(s, "load", source.load(), names);
    check_patterns(s, "exclude", source.exclude(), names);
    check_patterns(s, "allow_missing", source.allow_missing(), known_);
    std::vector<std::string> tables;
    for (const BankItem& item : model_) {
      if (item.kind == BankItem::kTable) tables.push_back(item.name);
    }
    check_patterns(s, "clear_rows", source.clear_rows(), tables);
  }

  // Returns the name in the model. Adds the rules that apply to `used`.
  std::string target_name(const SourceConfig& source, const std::string& name,
                          std::set<int>* used) const {
    for (const absl::string_view part : {absl::string_view(name), owner_of(name)}) {
      for (int r = 0; r < source.rename_size(); ++r) {
        if (!matches_pattern(part, source.rename(r).from())) continue;
        used->insert(r);
        return absl::StrCat(renamed(part, source.rename(r)), name.substr(part.size()));
      }
    }
    return name;
  }

  void plan_source(int s) {
    check_rules(s);
    const SourceConfig& source = config_.source(s);
    std::map<std::string, std::string> taken;  // name in the model → in the source
    std::set<int> used;
    for (const BankItem& item : *sources_[s]) {
      if (!selected(source, item)) continue;
      const std::string target = target_name(source, item.name, &used);
      const auto [before, first] = taken.emplace(target, item.name);
      if (!first) {
        say(s, absl::StrCat(before->second, " and ", item.name, " both become ", target));
        continue;
      }
      add(s, item, target);
    }
    for (int r = 0; r < source.rename_size(); ++r) {
      if (used.count(r) > 0) continue;
      say(s,
          absl::StrCat("rename \"", source.rename(r).from(), "\" matches nothing that is loaded"));
    }
    check_slots(s, taken);
  }

  void add(int s, const BankItem& item, const std::string& target) {
    const bool optimizer = item.kind == BankItem::kOptimizer;
    // The optimizer itself checks the names of a parameter's states.
    const auto found = by_name_.find(optimizer ? std::string(owner_of(target)) : target);
    const BankItem::Kind kind = optimizer ? BankItem::kDense : item.kind;
    if (found == by_name_.end() || found->second->kind != kind) {
      say(s, absl::StrCat(item.name, target == item.name ? "" : ", renamed " + target + ",",
                          " is not in the model", did_you_mean(target, known_),
                          " (exclude or rename it)"));
      return;
    }
    if (!optimizer && item.shape != found->second->shape) {
      say(s, absl::StrCat(item.name, " is ", item.shape, "; ", target, " of the model is ",
                          found->second->shape));
      return;
    }
    BankItem to = *found->second;
    if (optimizer) to = {BankItem::kOptimizer, target, item.shape};
    const bool clear =
        item.kind == BankItem::kTable && matches_any(target, config_.source(s).clear_rows());
    plan_.loads.push_back({s, item.name, std::move(to), clear});
  }

  // Checks that slots are loaded with the rows of their table, and that all slots are.
  void check_slots(int s, const std::map<std::string, std::string>& taken) {
    const SourceConfig& source = config_.source(s);
    for (const auto& [target, from] : taken) {
      const auto found = by_name_.find(target);
      if (found == by_name_.end() || found->second->kind != BankItem::kSlot) continue;
      if (taken.count(std::string(owner_of(target))) > 0) continue;
      say(s, absl::StrCat(from, " is loaded without the rows of its table"));
    }
    if (!gives(source, SourceConfig::SLOTS)) return;
    for (const BankItem& item : model_) {
      if (item.kind != BankItem::kSlot || taken.count(item.name) > 0 ||
          taken.count(std::string(owner_of(item.name))) == 0 || allowed(item.name)) {
        continue;
      }
      say(s, absl::StrCat(item.name, ", ", item.shape, ", is missing"));
    }
  }

  bool allowed(absl::string_view name) const {
    for (const SourceConfig& source : config_.source()) {
      if (matches_with_slots(name, source.allow_missing())) return true;
    }
    return false;
  }

  // Drops overridden loads: for tensors, all loads except the last source's; for tables, the loads
  // before the last source that clears the table.
  void drop_overridden() {
    std::map<std::string, int> last;
    for (const BankPlan::Load& load : plan_.loads) {
      const bool whole =
          load.to.kind == BankItem::kDense || load.to.kind == BankItem::kOptimizer || load.clear;
      if (whole) last[load.to.name] = load.source;
    }
    const auto gone = [&](const BankPlan::Load& load) {
      const bool row = load.to.kind == BankItem::kSlot || load.to.kind == BankItem::kAdmission;
      const auto found = last.find(row ? std::string(owner_of(load.to.name)) : load.to.name);
      return found != last.end() && load.source < found->second;
    };
    plan_.loads.erase(std::remove_if(plan_.loads.begin(), plan_.loads.end(), gone),
                      plan_.loads.end());
  }

  void check_missing(bool all) {
    bool absent = false;
    for (const auto& items : sources_) absent |= !items.has_value();
    std::set<std::string> given;
    for (const BankPlan::Load& load : plan_.loads) given.insert(load.to.name);
    for (const BankItem& item : model_) {
      if (given.count(item.name) > 0) continue;
      const bool whole = item.kind == BankItem::kDense || item.kind == BankItem::kTable;
      if (item.kind == BankItem::kAdmission) continue;
      if (whole || given.count(std::string(owner_of(item.name))) > 0) plan_.fresh.push_back(item);
      if (!all || !whole || absent || allowed(item.name)) continue;
      lines_.push_back(absl::StrCat(item.name, ", ", item.shape,
                                    ", is missing (allow_missing lets it start fresh)"));
    }
  }

  const ModelBankConfig& config_;
  const SourceItems& sources_;
  const std::vector<BankItem>& model_;
  const std::vector<std::string> known_;
  std::map<std::string, const BankItem*> by_name_;
  BankPlan plan_;
  std::vector<std::string> lines_;
};

}  // namespace

absl::string_view owner_of(absl::string_view name) { return name.substr(0, name.find('@')); }

absl::StatusOr<BankPlan> plan_bank(const ModelBankConfig& config, const SourceItems& sources,
                                   const std::vector<BankItem>& model, bool all) {
  return Planner(config, sources, model).run(all);
}

std::string BankPlan::to_string(const ModelBankConfig& config) const {
  size_t name_width = 4, shape_width = 5;
  const auto measure = [&](const BankItem& item) {
    name_width = std::max(name_width, item.name.size());
    shape_width = std::max(shape_width, item.shape.size());
  };
  for (const Load& load : loads) measure(load.to);
  for (const BankItem& item : fresh) measure(item);
  std::string text;
  const auto line = [&](absl::string_view name, absl::string_view shape, absl::string_view from) {
    absl::StrAppendFormat(&text, "%-*s  %-*s  %s\n", static_cast<int>(name_width), name,
                          static_cast<int>(shape_width), shape, from);
  };
  line("name", "shape", "from");
  for (const Load& load : loads) {
    line(load.to.name, load.to.shape,
         absl::StrCat(config.source(load.source).path(),
                      load.from == load.to.name ? "" : absl::StrCat(", ", load.from),
                      load.clear ? ", rows before it go" : ""));
  }
  for (const BankItem& item : fresh) line(item.name, item.shape, "(as it is)");
  return text;
}

}  // namespace millrace
