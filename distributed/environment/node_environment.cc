#include "distributed/environment/node_environment.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr char kNodes[] = "PET_NNODES";
constexpr char kNode[] = "PET_NODE_RANK";
constexpr char kRanksPerNode[] = "PET_NPROC_PER_NODE";
constexpr char kMasterHost[] = "PET_MASTER_ADDR";
constexpr char kMasterPort[] = "PET_MASTER_PORT";

// Reads PET_NNODES: N, or MIN:MAX with equal numbers, which torchrun also accepts for a fixed
// number.
absl::Status read_nodes(const GetVariable& get, int* nodes) {
  const std::optional<std::string> text = get(kNodes);
  if (!text) return absl::OkStatus();
  const std::pair<absl::string_view, absl::string_view> range =
      absl::StrSplit(*text, absl::MaxSplits(':', 1));
  const bool is_range = text->find(':') != std::string::npos;
  if (is_range && range.first != range.second) {
    return absl::InvalidArgumentError(absl::StrCat(
        kNodes, " is \"", *text,
        "\"; expected is one number of nodes, since the ranks of a start have one; torchrun starts "
        "the ranks of a range"));
  }
  const GetVariable first = [&](const char*) { return std::string(range.first); };
  return read_optional_number(first, kNodes, nullptr, 1, nodes);
}

// Reads PET_NODE_RANK.
absl::Status read_node(const GetVariable& get, NodeEnvironment* environment) {
  ASSIGN_OR_RETURN(std::optional<VariableNumber> node, read_number(get, kNode));
  if (node) {
    RETURN_IF_ERROR(require_range(*node, 0, environment->nodes - 1));
    environment->node = node->value;
  } else if (environment->nodes > 1) {
    return variable_not_set(kNode, absl::StrCat(kNodes, " is ", environment->nodes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<NodeEnvironment>> read_node_environment(const GetVariable& get,
                                                                     const NodeFlags& flags) {
  if (!get(kNodes) && !get(kNode) && !get(kRanksPerNode)) return std::nullopt;
  NodeEnvironment environment;
  RETURN_IF_ERROR(read_nodes(get, &environment.nodes));
  RETURN_IF_ERROR(read_node(get, &environment));
  if (flags.ranks_per_node) {
    environment.ranks_per_node = *flags.ranks_per_node;
  } else {
    RETURN_IF_ERROR(
        read_optional_number(get, kRanksPerNode, nullptr, 1, &environment.ranks_per_node));
  }
  // The product is the number of ranks, which is an int.
  if (environment.ranks_per_node > std::numeric_limits<int>::max() / environment.nodes) {
    return absl::InvalidArgumentError(absl::StrCat(kNodes, " is ", environment.nodes, " and ",
                                                   kRanksPerNode, " ", environment.ranks_per_node,
                                                   "; these are too many ranks"));
  }
  // The launcher of a single node needs no address of another machine.
  if (environment.nodes > 1) {
    const GetVariable with_flags = [&](const char* name) -> std::optional<std::string> {
      const bool replaced = flags.master_port && name == absl::string_view(kMasterPort);
      return replaced ? absl::StrCat(*flags.master_port) : get(name);
    };
    ASSIGN_OR_RETURN(environment.master, read_master_address(with_flags, kMasterHost, kMasterPort));
  }
  return environment;
}

bool is_node_process(const GetVariable& get) {
  if (!get(kNode) || get("LOCAL_RANK")) return false;
  const std::optional<std::string> rank = get("RANK");
  return !rank || rank == get(kNode);
}

}  // namespace millrace
