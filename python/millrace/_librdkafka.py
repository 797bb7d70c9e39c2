"""Lets the program and the extension open the librdkafka of confluent-kafka, in the same environment."""
import glob
import os


def offer() -> None:
  """Names the library for this process, which opens the system's first (docs/windows.md)."""
  packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
  found = sorted(glob.glob(os.path.join(packages, "confluent_kafka.libs", "librdkafka*.so*")))
  if found:
    os.environ["MILLRACE_CARRIED_LIBRDKAFKA"] = found[0]
