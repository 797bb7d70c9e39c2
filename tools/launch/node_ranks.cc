#include "tools/launch/node_ranks.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<NodeRanks> read_node_ranks(const GetVariable& get, const NodeFlags& flags) {
  ASSIGN_OR_RETURN(std::optional<NodeEnvironment> node, read_node_environment(get, flags));
  if (!node && !flags.ranks_per_node) {
    return absl::InvalidArgumentError(
        "launch: --ranks is required (-n N: ranks on this machine), unless PET_NPROC_PER_NODE is "
        "set");
  }
  NodeRanks ranks;
  ranks.count = node ? node->ranks_per_node : *flags.ranks_per_node;
  ranks.world_size = ranks.count;
  ranks.master.port = flags.master_port.value_or(0);
  if (node && node->nodes > 1) {
    ranks.first = node->node * ranks.count;
    ranks.world_size = node->nodes * ranks.count;
    ranks.master = node->master;
  }
  return ranks;
}

std::vector<std::string> rank_variables(const NodeRanks& ranks, int local_rank, int port) {
  return {absl::StrCat("RANK=", ranks.first + local_rank),
          absl::StrCat("WORLD_SIZE=", ranks.world_size),
          absl::StrCat("LOCAL_RANK=", local_rank),
          absl::StrCat("LOCAL_WORLD_SIZE=", ranks.count),
          absl::StrCat("MASTER_ADDR=", ranks.master.host),
          absl::StrCat("MASTER_PORT=", port)};
}

}  // namespace millrace
