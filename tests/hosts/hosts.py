"""Hosts in a test: network namespaces of one machine with a network between them.

    import hosts

    def test(self):
      with hosts.Network(2) as network:
        node1, node2 = network.hosts
        server = node1.start(["millrace", "train", "job.textproto"], env={"RANK": "0"})
        network.partition(node1, node2)

    if __name__ == "__main__":
      hosts.enter()  # before anything else
      unittest.main()

Each host has a name, a file /etc/hosts, and one or more interfaces eth0, eth1, … at bridges of their
own, with addresses of IPv4 and IPv6. Faults: links that are down, slow or late, packets that are
lost, also in one direction only, frozen and dead hosts.

enter() runs the whole program in namespaces of its own: for processes, mounts and the network.
Nothing outlives the program, however it ends, and programs that run at the same time do not meet.
Root is not needed where the kernel gives users namespaces.
"""
import collections
import ctypes
import errno
import itertools
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SKIPPED = 77  # exit code of enter(); the last line of the output has the reason
_INSIDE = "MILLRACE_INSIDE_HOSTS"
_NAMESPACES = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
_CLONE_NEWNET = 0x40000000
# Makes one of each kind of object that Network and Host make.
_PROBE = """
set -e
PATH=$PATH:/usr/sbin:/sbin
ip link add a0 type veth peer name a1
ip link add b0 type bridge
nft 'add table inet p; add chain inet p c { type filter hook input priority 0; }'
nft 'add rule inet p c numgen random mod 2 < 1 drop'
tc qdisc add dev a0 root tbf rate 1mbit burst 65536 latency 50ms
"""
_libc = ctypes.CDLL(None, use_errno=True)


def _run(*command):
  """Runs a command to its end. Raises RuntimeError with its output if it fails."""
  result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL)
  if result.returncode != 0:
    raise RuntimeError("%s: %s (exit code %d)" % (" ".join(command), result.stdout.strip(),
                                                  result.returncode))
  return result.stdout


def unshare_command():
  """Returns the command that runs another one in new namespaces.

  None if the kernel refuses these, or lacks links, filters or queues that hosts need, or if a
  program is missing.
  """
  for user in ([], ["--user", "--map-root-user"]):
    command = ["unshare", *user, *_NAMESPACES]
    try:
      if subprocess.run([*command, "sh", "-c", _PROBE], capture_output=True).returncode == 0:
        return command
    except OSError:
      pass
  return None


def enter():
  """Runs this program again, in namespaces of its own, and exits with its exit code.

  Returns in that second run. If the machine does not allow it, prints the reason in the form of
  tests/environment/skip.h and exits with SKIPPED.
  """
  if _INSIDE in os.environ:
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    _run("ip", "link", "set", "lo", "up")
    return
  os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
  for program, package in (("ip", "iproute2"), ("nft", "nftables")):
    if shutil.which(program) is None:
      _skip("not provided: %s: ./bazelw test_setup installs %s" % (program, package))
  command = unshare_command()
  if command is None:
    _skip("kernel: network namespaces: this process may not make them, or they have no veth, "
          "bridge, nf_tables or tbf")
  os.environ[_INSIDE] = "1"
  sys.stdout.flush()
  os.execvp(command[0], [*command, sys.executable, "-B", *sys.argv])


def _skip(reason):
  print(reason, flush=True)
  sys.exit(SKIPPED)


def _processes_in(namespace):
  """Returns the processes, without zombies, whose network namespace is `namespace`."""
  found = []
  for name in os.listdir("/proc"):
    if not name.isdigit():
      continue
    try:
      if os.readlink("/proc/%s/ns/net" % name) == namespace:
        found.append(int(name))
    except OSError:
      pass  # it has ended, or is a zombie
  return found


class Host:
  """A host of a Network, which makes it.

  Attributes: name; number, from 1; ipv4 and ipv6, the addresses of each interface ("" without).
  """

  def __init__(self, network, number, name):
    self.name = name
    self.number = number
    self.network = network
    self.ipv4 = []
    self.ipv6 = []
    self._relays = {}
    self._hosts_file = os.path.join(network.folder, "hosts-%d" % number)
    self.set_hosts_file("127.0.0.1 localhost\n")
    script = ('mount --bind "$0" /etc/hosts && echo "$1" > /proc/sys/kernel/hostname && '
              "ip link set lo up && echo ready && exec sleep infinity")
    self._holder = subprocess.Popen(
        ["unshare", "--net", "--mount", "--uts", "sh", "-c", script, self._hosts_file, name],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if self._holder.stdout.readline() != "ready\n":
      raise RuntimeError("cannot make host %s: %s" % (name, self._holder.stderr.read()))
    self._namespace = os.readlink("/proc/%d/ns/net" % self._holder.pid)

  def set_hosts_file(self, text):
    """Replaces the content of /etc/hosts."""
    with open(self._hosts_file, "w") as file:
      file.write(text)

  def start(self, command, env=None, cwd=None, **options):
    """Starts a process on this host. `env` is added to the environment; options: those of Popen.

    The caller waits for the process. Its number is that of the process itself.
    """
    variables = ["%s=%s" % item for item in (env or {}).items()]
    command = ["nsenter", "--target", str(self._holder.pid), "--net", "--mount", "--uts", "env",
               "--chdir", cwd or os.getcwd(), *variables, *command]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)

  def call(self, *command):
    """Runs a command on this host to its end. Returns its output. Raises RuntimeError on failure."""
    return _run("nsenter", "--target", str(self._holder.pid), "--net", "--mount", "--uts", *command)

  def inside(self, function):
    """Returns function(), called on a thread whose sockets belong to this host."""
    results = []

    def work():
      with open("/proc/%d/ns/net" % self._holder.pid) as namespace:
        if _libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
          results.append(OSError(ctypes.get_errno(), "setns"))
          return
      try:
        results.append(function())
      except Exception as error:  # raised again below
        results.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(results[0], Exception):
      raise results[0]
    return results[0]

  def processes(self):
    """Returns the numbers of all processes of this host, zombies apart."""
    return [pid for pid in _processes_in(self._namespace) if pid not in (self._holder.pid, os.getpid())]

  # Faults.

  def set_link(self, up, interface=0):
    """Takes the link of an interface down at the switch, or up again. No connection is reset."""
    _run("ip", "link", "set", self._port(interface), "up" if up else "down")

  def limit(self, megabits, interface=0):
    """Limits both directions of an interface to `megabits` per second (tbf)."""
    burst = max(65536, int(megabits * 125))  # a packet of segments, or a millisecond
    shape = ("root", "tbf", "rate", "%gmbit" % megabits, "burst", str(burst), "latency", "50ms")
    _run("tc", "qdisc", "replace", "dev", self._port(interface), *shape)
    self.call("tc", "qdisc", "replace", "dev", "eth%d" % interface, *shape)

  def delay(self, seconds, interface=0):
    """Delays each packet of an interface, in each direction, by a relay in front of the switch."""
    port, near, far = (self._link(kind, interface) for kind in "prs")
    if interface in self._relays:
      earlier = self._relays.pop(interface)
      earlier.kill()
      earlier.wait()
      earlier.stdout.close()
    else:
      _run("ip", "link", "set", port, "nomaster")
      _run("ip", "link", "add", near, "type", "veth", "peer", "name", far)
      _run("ip", "link", "set", far, "master", self.network.bridge(interface))
      for link in (near, far):
        _run("ip", "link", "set", link, "up")
    relay = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), "--relay", port, near,
                              str(seconds)], stdout=subprocess.PIPE)
    self._relays[interface] = relay
    if relay.stdout.readline() != b"ready\n":
      raise RuntimeError("the relay of %s ended" % self.name)

  def lose(self, sender, share=1.0):
    """Loses this share of the packets that arrive from `sender`; the other direction stays."""
    numbers = "" if share >= 1 else "numgen random mod 10000 < %d " % round(share * 10000)
    for family, addresses in (("ip", sender.ipv4), ("ip6", sender.ipv6)):
      for address in filter(None, addresses):
        self.call("nft", "add rule inet faults input %s saddr %s %sdrop" % (family, address, numbers))

  def heal(self):
    """Ends all losses of lose()."""
    self.call("nft", "flush chain inet faults input")

  def freeze(self):
    """Stops all processes (SIGSTOP), as a paused virtual machine, but for the kernel's answers."""
    self._signal(signal.SIGSTOP)

  def thaw(self):
    self._signal(signal.SIGCONT)

  def die(self):
    """Ends the host without a word to the others: links down, then SIGKILL of all processes."""
    for interface in range(len(self.ipv4)):
      self.set_link(False, interface)
    self._signal(signal.SIGKILL)

  def _port(self, interface):
    return self._link("p", interface)

  def _link(self, kind, interface):
    return "%s%d.%d.%d" % (kind, self.network.number, self.number, interface)

  def _signal(self, number):
    for pid in self.processes():
      try:
        os.kill(pid, number)
      except ProcessLookupError:
        pass

  def _connect(self, interface, ipv4, ipv6):
    """Adds an interface at the bridge of this number."""
    port, name = self._port(interface), "eth%d" % interface
    _run("ip", "link", "add", port, "type", "veth", "peer", "name", name, "netns",
         str(self._holder.pid))
    _run("ip", "link", "set", port, "master", self.network.bridge(interface), "up")
    self.ipv4.append("10.77.%d.%d" % (interface, self.number) if ipv4 else "")
    self.ipv6.append("fd77:%d::%d" % (interface + 1, self.number) if ipv6 else "")
    script = "ip link set %s up" % name
    if ipv4:
      script += " && ip addr add %s/24 dev %s" % (self.ipv4[-1], name)
    if ipv6:
      script += " && ip -6 addr add %s/64 dev %s nodad" % (self.ipv6[-1], name)
    self.call("sh", "-c", script)
    if interface == 0:
      self.call("nft", "add table inet faults; add chain inet faults input "
                "{ type filter hook input priority 0; }")

  def _end(self):
    self._signal(signal.SIGKILL)
    for interface, relay in self._relays.items():
      relay.kill()
      relay.wait()
      relay.stdout.close()
      subprocess.run(["ip", "link", "del", self._link("r", interface)])
    # The kernel removes a namespace some time after its last process has ended.
    for interface in range(len(self.ipv4)):
      subprocess.run(["ip", "link", "del", self._port(interface)])
    self._holder.kill()
    self._holder.wait()
    self._holder.stdout.close()
    self._holder.stderr.close()


class Network:
  """Hosts node1, node2, … at a bridge for each interface. A context manager: its end removes all.

  count       number of hosts
  interfaces  of each host; the names of hosts lead to the first one
  ipv4, ipv6  kinds of addresses
  debian      each host finds its own name at 127.0.1.1, as Debian's installer writes it
  """

  _numbers = itertools.count(1)  # for the names of links

  def __init__(self, count, interfaces=1, ipv4=True, ipv6=True, debian=False):
    self._count, self._interfaces, self._ipv4, self._ipv6 = count, interfaces, ipv4, ipv6
    self._debian = debian
    self.number = next(self._numbers)
    self.hosts = []
    self._bridges = []

  def __getitem__(self, index):
    return self.hosts[index]

  def bridge(self, interface):
    return self._bridges[interface]

  def __enter__(self):
    self.folder = tempfile.mkdtemp(prefix="hosts-")
    try:
      for interface in range(self._interfaces):
        self._bridges.append("b%d.%d" % (self.number, interface))
        _run("ip", "link", "add", self._bridges[-1], "type", "bridge")
        _run("ip", "link", "set", self._bridges[-1], "up")
      for number in range(1, self._count + 1):
        self.hosts.append(Host(self, number, "node%d" % number))
        for interface in range(self._interfaces):
          self.hosts[-1]._connect(interface, self._ipv4, self._ipv6)
      for host in self.hosts:
        host.set_hosts_file("127.0.0.1 localhost\n::1 localhost\n" + "".join(
            self._lines_for(host, other) for other in self.hosts))
    except BaseException:
      self.__exit__()
      raise
    return self

  def _lines_for(self, host, other):
    if self._debian and host is other:
      return "127.0.1.1 %s\n" % host.name
    return "".join("%s %s\n" % (address, other.name)
                   for address in (other.ipv4[0], other.ipv6[0]) if address)

  def __exit__(self, *_):
    for host in self.hosts:
      host._end()
    for bridge in self._bridges:
      subprocess.run(["ip", "link", "del", bridge], stderr=subprocess.DEVNULL)
    shutil.rmtree(self.folder, ignore_errors=True)

  def partition(self, a, b):
    """Loses all packets between two hosts."""
    a.lose(b)
    b.lose(a)

  def heal(self):
    for host in self.hosts:
      host.heal()


# The relay of Host.delay(): a process that passes frames between two links, each after some time.
# The kernel's headers of offloads pass with them, so that frames stay as large as they are.
_SOL_PACKET, _PACKET_VNET_HDR, _PACKET_OUTGOING = 263, 15, 4
_LARGEST_FRAME = 1 << 17


def _open_link(name):
  link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
  link.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
  link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
  link.bind((name, 3))
  link.setblocking(False)
  return link


def relay(first, second, seconds):
  links = [_open_link(first), _open_link(second)]
  others = {links[0]: links[1], links[1]: links[0]}
  waiting = collections.deque()  # when it is due, the link, the frame
  print("ready", flush=True)
  while True:
    pause = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    for link in select.select(links, [], [], pause)[0]:
      try:
        while True:
          frame, address = link.recvfrom(_LARGEST_FRAME)
          if address[2] != _PACKET_OUTGOING:
            waiting.append((time.monotonic() + seconds, others[link], frame))
      except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.ENETDOWN):
          raise
    while waiting and waiting[0][0] <= time.monotonic():
      _, link, frame = waiting.popleft()
      try:
        link.send(frame)
      except OSError:
        pass  # a full queue or a link that is down loses frames


if __name__ == "__main__" and sys.argv[1:2] == ["--relay"]:
  relay(sys.argv[2], sys.argv[3], float(sys.argv[4]))
