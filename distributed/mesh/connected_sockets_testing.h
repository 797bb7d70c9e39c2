#include "base/net/socket.h"
// TCP connections over loopback, for tests.
#ifndef MILLRACE_DISTRIBUTED_MESH_CONNECTED_SOCKETS_TESTING_H_
#define MILLRACE_DISTRIBUTED_MESH_CONNECTED_SOCKETS_TESTING_H_

#include <memory>
#include <utility>
#include <vector>

namespace millrace {

// Returns the two ends of a new connection. Ends the process on failure.
std::pair<Socket, Socket> connected_pair();

// Returns connections between all ranks of a job: element [r][p] is the end at rank r of the
// connection to rank p; none if r is p.
std::vector<std::vector<Socket>> connected_ranks(int world_size);

// Returns the meshes of all ranks of a job, by rank. `Mesh`: ControlMesh or FrameMesh.
template <typename Mesh>
std::vector<std::unique_ptr<Mesh>> connected_meshes(int world_size) {
  std::vector<std::unique_ptr<Mesh>> meshes;
  int rank = 0;
  for (std::vector<Socket>& peers : connected_ranks(world_size)) {
    meshes.push_back(std::make_unique<Mesh>(rank++, std::move(peers)));
  }
  return meshes;
}

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_CONNECTED_SOCKETS_TESTING_H_
