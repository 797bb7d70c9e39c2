"""Lets the program and the extension open the librdkafka of confluent-kafka, in the same environment."""
import glob
import os


def find(packages: str) -> str:
  """Returns the library in a folder of packages, "" without one."""
  return next(iter(sorted(glob.glob(os.path.join(packages, "confluent_kafka.libs", "librdkafka*.so*")))), "")


def offer() -> None:
  """Names the library for this process, which opens the system's first (docs/windows.md)."""
  library = find(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
  if library:
    os.environ["MILLRACE_CARRIED_LIBRDKAFKA"] = library
