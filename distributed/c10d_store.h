// The store of a job as c10d's TCPStore: its server and its clients.
#ifndef MILLRACE_DISTRIBUTED_C10D_STORE_H_
#define MILLRACE_DISTRIBUTED_C10D_STORE_H_

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/net/socket.h"
#include "distributed/reconnecting_store.h"
#include "distributed/store_probe.h"
#include "distributed/store_seal.h"

namespace millrace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Returns at least 1 ms.
std::chrono::milliseconds to_milliseconds(absl::Duration duration);

// Returns messages that a TCPStore answers independently of its content.
StoreGreeting store_greeting();

// Serves a store on a listening socket, to which `address` leads, while the result exists.
absl::StatusOr<StorePointer> serve_store(Socket socket, const SocketAddress& address);

// Connects a client for ReconnectingStore, with sealed values. Blocks up to `timeout`, which also
// limits later calls. Throws. Any thread.
std::unique_ptr<StoreClient> make_store_client(const SocketAddress& address, absl::Duration timeout,
                                               const StoreSeal& seal);

// Connects a store for channels of c10d, with values sealed by `secret` (RankEnvironment::secret);
// counters are not sealed. Blocks up to `timeout`, which also limits later calls. Errors:
// Unavailable; of kind kMachine. Any thread.
absl::StatusOr<StorePointer> connect_sealed_store(const SocketAddress& address,
                                                  absl::Duration timeout, absl::string_view secret);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_C10D_STORE_H_
