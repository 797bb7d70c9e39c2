#include "tests/campaigns/flip_campaign.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "checkpoint/format/checkpoint_names.h"
#include "tests/campaigns/campaign_job.h"

namespace millrace {
namespace {

constexpr int64_t kOlder = 2, kNewer = 3;

using Content = std::map<std::string, std::string>;  // by name of the file

class Flips {
 public:
  explicit Flips(const CampaignOptions& options)
      : options_(options),
        result_("flips"),
        files_(plant(options.fault, memory_)),
        fallback_(*files_, job_options(OnDamage::kFallback)),
        strict_(*files_, job_options(OnDamage::kStrict)) {}

  CampaignResult run() {
    CampaignJob writer(memory_, job_options(OnDamage::kFallback));
    const absl::Status status = writer.train([this](int64_t step, const std::string& digest) {
      if (step == kOlder) older_ = digest;
      if (step == kNewer) newer_ = digest;
    });
    if (!status.ok()) result_.violate(status.ToString());
    content_ = read(kNewer);
    before_ = read(kOlder);
    const auto whole = fallback_.restore();
    if (!whole.ok() || !*whole || (*whole)->digest != newer_) result_.violate("not whole at first");
    for (const auto& [name, bytes] : content_) {
      result_.add("files");
      result_.add("bytes", bytes.size());
      flip(name, bytes);
      cut(name, bytes);
      exchange(name);
    }
    for (const char* name : {"extra", "dense-00001-of-00002.safetensors", "manifest.json.tmp-1"}) {
      try_case("files too many", name, [&] { memory_.put(path(name), "x"); });
      (void)memory_.remove(path(name));
    }
    return std::move(result_);
  }

 private:
  static JobOptions job_options(OnDamage on_damage) {
    JobOptions options;
    options.steps = kNewer;
    options.on_damage = on_damage;
    return options;
  }
  static std::string directory(int64_t step = kNewer) {
    return join_path(kCampaignFolder, checkpoint_name(step));
  }
  static std::string path(const std::string& name) { return join_path(directory(), name); }

  Content read(int64_t step) {
    Content content;
    const auto entries = memory_.list(directory(step));
    if (!entries.ok()) return content;
    for (const DirectoryEntry& entry : *entries) {
      const auto bytes = read_file(memory_, join_path(directory(step), entry.name));
      if (bytes.ok()) content[entry.name] = *bytes;
    }
    return content;
  }

  bool over() const { return options_.stop_at_violation && result_.violations() > 0; }

  void flip(const std::string& name, const std::string& bytes) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (int bit = 0; bit <= 8; ++bit) {
        const char mask = static_cast<char>(bit == 8 ? 0xff : 1 << bit);
        try_case(
            "flips", name,
            [&] {
              std::string changed = bytes;
              changed[at] ^= mask;
              memory_.put(path(name), std::move(changed));
            },
            absl::StrCat("byte ", at, " mask ", static_cast<int>(static_cast<uint8_t>(mask))));
      }
    }
    memory_.put(path(name), bytes);
  }

  void cut(const std::string& name, const std::string& bytes) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      try_case(
          "lengths", name, [&] { memory_.put(path(name), bytes.substr(0, size)); },
          absl::StrCat("cut to ", size));
    }
    for (const char* more : {"x", " ", "\n"}) {
      try_case(
          "lengths", name, [&] { memory_.put(path(name), bytes + more); }, "longer");
    }
    memory_.put(path(name), bytes);
  }

  void exchange(const std::string& name) {
    try_case("files missing", name, [&] { (void)memory_.remove(path(name)); });
    for (const auto& [other, bytes] : content_) {
      if (other == name) continue;
      const std::string& in_its_place = bytes;
      try_case(
          "files in the place of others", name, [&] { memory_.put(path(name), in_its_place); },
          other);
    }
    const auto older = before_.find(name);
    if (older != before_.end() && older->second != content_[name]) {
      // An older manifest is whole, so the error names a file with another content.
      const std::string named = name == kManifestName ? "" : name;
      try_case("files from another step", named, [&] { memory_.put(path(name), older->second); });
    }
    memory_.put(path(name), content_[name]);
  }

  template <typename Damage>
  void try_case(const std::string& kind, const std::string& name, const Damage& damage,
                const std::string& what = "") {
    // The other kinds have few cases, so all run.
    const bool many = kind == "flips" || kind == "lengths";
    if (over() || (many && !is_chosen(options_, ++cases_))) return;
    damage();
    result_.add(kind);
    const std::string where = absl::StrCat(kind, ": ", name, " ", what);
    check_fallback(name, where);
    check_strict(name, where);
  }

  void check_fallback(const std::string& name, const std::string& where) {
    const auto restored = fallback_.restore();
    if (!restored.ok() || !*restored) {
      return result_.violate(absl::StrCat(where, ": ", restored.status().ToString()));
    }
    if ((*restored)->step != kOlder || (*restored)->digest != older_) {
      return result_.violate(absl::StrCat(where, ": step ", (*restored)->step, " was used",
                                          (*restored)->digest == newer_ ? "" : ", other bytes"));
    }
    const std::vector<std::string>& notes = (*restored)->notes;
    if (notes.empty() || !absl::StrContains(notes[0], directory()) ||
        !absl::StrContains(notes[0], name)) {
      result_.violate(absl::StrCat(where, ": the note is: ", notes.empty() ? "" : notes[0]));
    }
  }

  void check_strict(const std::string& name, const std::string& where) {
    const absl::Status status = strict_.look().status();
    const bool damage = absl::IsDataLoss(status) || absl::IsNotFound(status);
    if (!damage || !absl::StrContains(status.message(), name)) {
      result_.violate(absl::StrCat(where, ", strict: ", status.ToString()));
    }
  }

  const CampaignOptions options_;
  CampaignResult result_;
  MemoryFileSystem memory_;
  const std::unique_ptr<FileSystem> files_;
  CampaignJob fallback_, strict_;  // the jobs that restore
  std::string older_, newer_;      // digests
  Content content_, before_;       // of the newer and the older checkpoint
  int64_t cases_ = 0;
};

}  // namespace

CampaignResult run_flips(const CampaignOptions& options) { return Flips(options).run(); }

}  // namespace millrace
