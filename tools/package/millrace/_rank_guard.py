"""Runs a command as a process that ends with the process that started this one.

  python3 -c TEXT_OF_THIS_FILE COMMAND ARGUMENT...

The command runs in a process group of its own, with an empty standard input, and shares the outputs of
this process. Each byte on the standard input of this process is the number of a signal for the group. The
end of this input, which is also the end of the process that writes to it, kills the group. When the
command ends, what it left behind in its group is killed, and this process ends with the code of the
command: 128 + S if signal S killed it, 127 if it cannot be started. Signals to this process itself have
no effect, except SIGKILL, which also kills the command.
"""
import ctypes
import os
import select
import signal
import sys

CANNOT_START = 127
PR_SET_PDEATHSIG = 1
IGNORED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGXCPU")


def become(command, guard, mask):
  """Replaces this process, a child of `guard`, by the command, with `mask` as its blocked signals."""
  os.setpgid(0, 0)
  ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
  if os.getppid() != guard:  # it ended before it could be noticed
    os._exit(128 + signal.SIGKILL)
  # Ignored signals would stay ignored; Python itself ignores the last two.
  for name in IGNORED + ("SIGCHLD", "SIGPIPE", "SIGXFSZ"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
  signal.pthread_sigmask(signal.SIG_SETMASK, mask)
  os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
  try:
    os.execvp(command[0], command)
  except OSError as error:
    os.write(2, ("millrace: cannot start %s: %s\n" % (command[0], error.strerror)).encode())
  os._exit(CANNOT_START)


def send(number, group):
  try:
    os.killpg(group, number)
  except ProcessLookupError:
    pass


def main():
  for name in IGNORED:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
  woken, wake = os.pipe()
  for end in (woken, wake):
    os.set_blocking(end, False)
  signal.signal(signal.SIGCHLD, lambda *_: None)
  signal.set_wakeup_fd(wake)
  guard = os.getpid()
  # A signal that comes before the child stops ignoring it waits until then.
  mask = signal.pthread_sigmask(signal.SIG_BLOCK, [getattr(signal, name) for name in IGNORED])
  child = os.fork()
  if child == 0:
    become(sys.argv[1:], guard, mask)
  signal.pthread_sigmask(signal.SIG_SETMASK, mask)
  try:
    os.setpgid(child, child)  # both processes do, so that the order does not matter
  except OSError:
    pass  # it runs the command already, or has ended
  # No other process can have the number of the child before the child is reaped.
  while not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
    ready, _, _ = select.select([0, woken], [], [])
    if woken in ready:
      os.read(woken, 4096)
    if 0 in ready:
      for number in os.read(0, 4096) or [signal.SIGKILL]:
        send(number, child)
        if number == signal.SIGKILL:
          os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
  send(signal.SIGKILL, child)
  _, status = os.waitpid(child, 0)
  code = os.waitstatus_to_exitcode(status)
  os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
  main()
