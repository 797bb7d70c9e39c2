"""Programs beside Millrace's that pages may call, with the flags that they may have there.

A flag that ends in "=" takes a value, behind "=" or as the next word. A new program or flag gets
its place here after a look into its manual.
"""

# Those of every shell; their flags are not checked.
SHELL = frozenset("alias cd cp export head id ls mkdir tail tar wait".split())

# Start another command line, which begins with the first word that is no flag.
LAUNCHERS = {
    "torchrun": "--no-python --nnodes= --nproc-per-node= --node-rank= --master-addr= "
                "--master-port= --rdzv-backend= --rdzv-endpoint= --rdzv-id= --max-restarts= "
                "--shutdown-timeout= --standalone",
    "mpirun": "-n= --host= --bind-to= -x= --oversubscribe",
    "mpiexec": "-n= -hosts= -genv=",
    "srun": "--ntasks= -n= --nodes= -N= --cpus-per-task= -c= --ntasks-per-node= --gpus-per-task= "
            "--partition= -p= --time= -t= --kill-on-bad-exit= --signal= --mpi= --label -l",
}

# PROGRAM or PROGRAM COMMAND: the flags.
PROGRAMS = {
    "curl": "-s -f -L -o= -O --fail --silent --output=",
    "docker build": "-t= -f= --tag= --file= --build-arg= --target=",
    "docker run": "--rm -v= -w= -e= -p= -u= -i -t -it --user= --volume= --workdir= --env= "
                  "--entrypoint= --network= --shm-size= --name=",
    "kubectl apply": "-f= -k= -n= --namespace=",
    "kubectl create": "-f= -n= --namespace= --from-file= --dry-run= -o=",
    "kubectl delete": "-f= -k= -n= --namespace= --ignore-not-found",
    "kubectl describe": "-f= -l= -n= --namespace=",
    "kubectl get": "-f= -l= -n= -o= -w --namespace= --watch",
    "kubectl logs": "-f -l= -n= -c= -p --namespace= --previous --follow --tail= --prefix",
    "kubectl port-forward": "-n= --namespace= --address=",
    "kubectl wait": "-f= -l= -n= --for= --timeout= --namespace=",
    "mlflow server": "--backend-store-uri= --default-artifact-root= --host= --port= -p=",
    "mlflow ui": "--backend-store-uri= --host= --port= -p=",
    "openssl rand": "-hex",
    "pip install": "--no-compile --no-deps --no-index --find-links= --target= --upgrade -U -r= "
                   "--user --quiet -q",
    "prometheus": "--config.file= --storage.tsdb.path= --web.listen-address=",
    "promtool check": "",
    "promtool test": "",
    "python3 -m json.tool": "--json-lines --indent= --sort-keys",
    "python3 -m millrace.convert": "--map= --list --allow_non_finite --overwrite",
    "python3 -m millrace.table_windows": "--catalog= --after= --poll=",
    "python3 -m mlperf_logging.compliance_checker": "--usage= --ruleset= --log_output= --quiet",
    "python3 -m venv": "--system-site-packages --clear",
    "python3 tests/campaigns/ray_ranks.py": "--job= --repeats= --program=",
    "python3 tests/campaigns/torchrec_checkpoints.py": "--program=",
    "sbatch": "--ntasks= -n= --nodes= -N= --ntasks-per-node= --cpus-per-task= -c= --partition= "
              "-p= --time= -t= --kill-on-bad-exit= --signal= --requeue --job-name= -J= --output= "
              "-o= --array= --open-mode=",
    "scontrol requeue": "",
    "scontrol show": "",
    "tensorboard": "--logdir= --host= --port= --bind_all --reload_interval=",
}

# Images of the pages whose entry point is the program of this name.
IMAGES = ("millrace",)

# Flags of ./bazelw build, test and run; those of --config must be in .bazelrc.
BAZEL = ("--config= --profile= --output_groups= --test_output= --test_filter= --test_arg= "
         "--runs_per_test= --jobs= --cache_test_results= -c=")
BAZEL_COMMANDS = ("build", "test", "run")
# Do not reach Bazel.
SETUP_COMMANDS = ("test_setup", "cuda_setup")
TEST_FAMILIES = ("kafka", "ray", "serving", "slurm", "tables")  # of third_party/test_families

# Targets of a reader's own.
OWN_TARGETS = ("//my:job",)


def parse(flags, words):
  """Returns the words behind the flags at the beginning of `words`.

  Errors: ValueError names a flag that `flags` lacks, or whose value is missing or not expected.
  """
  known = {flag.rstrip("="): flag.endswith("=") for flag in flags.split()}
  at = 0
  while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
    name, equals, _ = words[at].partition("=")
    if name not in known:
      raise ValueError(f"the table has no flag {name}")
    if equals and not known[name]:
      raise ValueError(f"flag {name} takes no value")
    at += 1
    if known[name] and not equals:
      if at == len(words):
        raise ValueError(f"flag {name} needs a value")
      at += 1
  return words[at:]


def parse_all(flags, words):
  """Parses flags in any place. Returns the other words."""
  rest = []
  while words:
    words = parse(flags, words)
    if words[:1] == ["--"]:
      return rest + words[1:]
    rest, words = rest + words[:1], words[1:]
  return rest


def find(words):
  """Returns the name in PROGRAMS of a command line and its other words, or None."""
  for length in (3, 2, 1):
    name = " ".join(words[:length])
    if name in PROGRAMS and len(words) >= length:
      return name, words[length:]
  return None


def is_known(name):
  return name in LAUNCHERS or any(entry.split()[0] == name for entry in PROGRAMS)
