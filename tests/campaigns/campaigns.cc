#include "tests/campaigns/campaigns.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/campaigns/crash_campaign.h"
#include "tests/campaigns/disk_campaign.h"
#include "tests/campaigns/flip_campaign.h"
#include "tests/campaigns/forked_child.h"
#include "tests/campaigns/kill_campaign.h"
#include "tests/campaigns/syscall_campaign.h"

namespace millrace {
namespace {

// The findings of a brief campaign.
struct Finding {
  int64_t violations = -1;  // -1: the campaign did not finish
  std::string skipped;
  std::string first;  // line of the first violation
};

Finding run_briefly(const CampaignEntry& campaign, const CampaignOptions& options) {
  ForkedChild child([&](const ForkedChild::Say& say) {
    const CampaignResult result = campaign.run(options);
    if (!result.skipped().empty()) say(absl::StrCat("skipped ", result.skipped()));
    if (result.violations() > 0) {
      const std::vector<std::string> lines = absl::StrSplit(result.first_violations()[0], '\n');
      say(absl::StrCat("first ", lines[0]));
    }
    say(absl::StrCat("violations ", result.violations()));
  });
  Finding finding;
  while (const auto line = child.next_line()) {
    absl::string_view text = *line;
    if (absl::ConsumePrefix(&text, "first ")) finding.first = std::string(text);
    if (absl::ConsumePrefix(&text, "skipped ")) finding.skipped = std::string(text);
    if (absl::ConsumePrefix(&text, "violations ")) {
      (void)absl::SimpleAtoi(text, &finding.violations);
    }
  }
  return finding;
}

CampaignOptions brief_options(const CampaignEntry& campaign, const CampaignOptions& options,
                              absl::string_view name) {
  CampaignOptions brief = campaign.brief;
  brief.seed = options.seed;
  brief.directory = join_path(options.directory, name);
  brief.stop_at_violation = true;
  return brief;
}

}  // namespace

const std::vector<CampaignEntry>& campaigns() {
  static const auto* entries = new std::vector<CampaignEntry>{
      {"kills", run_kills, 500, {.count = 4}},
      {"syscalls", run_syscalls, 0, {}},
      {"crash_states", run_crash_states, 1'000'000, {.count = 30'000}},
      {"disk", run_disk, 1024, {.count = 4096}},
      {"flips", run_flips, 0, {.stride = 499}},
  };
  return *entries;
}

const CampaignEntry* find_campaign(absl::string_view name) {
  for (const CampaignEntry& entry : campaigns()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

CampaignResult run_faults(const CampaignOptions& options, std::vector<std::string>* lines) {
  CampaignResult result("faults");
  for (const PlantedFaultEntry& entry : planted_faults()) {
    const CampaignEntry& campaign = *find_campaign(entry.campaign);
    const std::string number = absl::StrCat("fault", result.figure("planted"));
    CampaignOptions brief = brief_options(campaign, options, number);
    brief.fault = entry.fault;
    brief.only_call = entry.call;
    const Finding finding = run_briefly(campaign, brief);
    const std::string what = absl::StrCat(entry.what, " | ", entry.campaign, " | ");
    result.add("planted");
    if (!finding.skipped.empty()) {
      result.add("not looked for");
      lines->push_back(what + "not run: " + finding.skipped);
    } else if (finding.violations == 0) {
      result.violate(absl::StrCat("not found: ", entry.what));
    } else if (finding.violations < 0) {
      result.violate(absl::StrCat("the campaign broke down: ", entry.what));
    } else {
      result.add("caught");
      lines->push_back(what + finding.first);
    }
  }
  for (const CampaignEntry& campaign : campaigns()) {
    CampaignOptions brief = brief_options(campaign, options, campaign.name);
    brief.only_call = "rename";  // the other calls are for the full campaign
    const Finding finding = run_briefly(campaign, brief);
    if (finding.violations != 0) {
      result.violate(absl::StrCat(campaign.name, " without a fault: ", finding.first));
    }
    result.add("campaigns without a fault");
  }
  return result;
}

}  // namespace millrace
