#!/usr/bin/env python3
"""recipes_test.py SOURCE_DIR COLLBENCH CHECK: runs the recipes of docs/launching.

CHECK is one of
  page        the page names every recipe and nothing else, and its two terminals work
  mpirun      mpirun.sh with Open MPI
  sbatch      slurm.sbatch with a stand-in for srun
  manifests   the pods of the YAML files as processes here, each with the environment that Docker,
              Kubernetes or Kubeflow's operator would give it, the hosts' names replaced
  dockerfile  what it copies and installs exists

Exit code 77: skipped, with the reason.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from free_ports import free_ports  # noqa: E402

ROOT, COLLBENCH, CHECK = sys.argv[1:]
RECIPES = os.path.join(ROOT, "docs", "launching")
SCRATCH = tempfile.TemporaryDirectory()
QUICK = ["--algo", "ring", "-b", "1K", "-e", "1K", "-n", "5", "-T", "20"]


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def need(condition, what):
    if not condition:
        sys.exit("FAILED: " + what)


def environment(**variables):
    """What a process gets: nothing of ours but where programs and libraries are."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS",
                                                "TSAN_OPTIONS") if name in os.environ}
    return {**kept, "HOME": SCRATCH.name, "COLLBENCH": COLLBENCH, **variables}


def start(words, variables):
    return subprocess.Popen(words, cwd=SCRATCH.name, env=environment(**variables), text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def finish(processes):
    """Output of each; all must end with 0, the first having shown the figures."""
    results = []
    for process in processes:
        try:
            out, err = process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            sys.exit("FAILED: no end: %s" % process.args)
        results.append((process.returncode, out, err))
    need(all(code == 0 for code, _, _ in results), "%s: %s" % (processes[0].args, results))
    return results


def need_grpc():
    done = subprocess.run([COLLBENCH, "-B", "grpc", "-b", "4", "-e", "4", "-n", "1"], text=True,
                          capture_output=True, env=environment(), cwd=SCRATCH.name)
    if done.returncode == 4:
        skip("this build has no gRPC")


def check_page():
    with open(os.path.join(ROOT, "docs", "launching.md")) as file:
        page = file.read()
    named = set(re.findall(r"\]\(launching/([^)#]+)\)", page))
    there = {name for name in os.listdir(RECIPES) if not name.endswith(".dockerignore")}
    need(named == there, "the page names %s, the folder has %s" % (sorted(named), sorted(there)))
    terminals = re.findall(r"^\$ collbench (--hosts .*)$", page, re.M)
    need(len(terminals) == 2, "two terminals, not %s" % terminals)
    for command in re.findall(r"^\$? ?collbench launch .*? -- (.*)$", page, re.M):
        done = subprocess.run([COLLBENCH] + command.split() + ["--list"], env=environment(),
                              capture_output=True, text=True, cwd=SCRATCH.name)
        need(done.returncode == 0, done.stderr)
    need_grpc()
    port = free_ports(2)[0]
    processes = []
    for line in reversed(terminals):  # rank 0 first: its output is the table
        line = line.replace(":7101", ":%d" % port).replace(":7102", ":%d" % (port + 1))
        processes.append(start([COLLBENCH] + line.split() + ["-e", "64K", "-n", "5", "-T", "20"], {}))
    need("all results correct" in finish(processes)[0][1], "no table")


def check_mpirun():
    if shutil.which("mpirun") is None or "Open MPI" not in subprocess.run(
            ["mpirun", "--version"], capture_output=True, text=True).stdout:
        skip("Open MPI's mpirun is not installed")
    need_grpc()
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    words = [os.path.join(RECIPES, "mpirun.sh"), "127.0.0.1:3"] + QUICK + ["--json", "mpirun.json"]
    out = finish([start(words, {**root, "MASTER_PORT": str(free_ports(2)[0])})])[0][1]
    need("all results correct" in out, out)
    need_hosts("mpirun.json", 3)
    # On one machine nothing needs to be said.
    words = ["mpirun", "-n", "4", "--bind-to", "none", COLLBENCH, "run"] + QUICK
    _, out, err = finish([start(words, root)])[0]
    need("all results correct" in out and "as worker 3 of 4 (by Open MPI)" in err, out + err)
    words = ["mpirun", "-np", "2", "--bind-to", "none", COLLBENCH, "train", "--strategy",
             "multi-worker-mirrored", "--model", "mlp", "--batch", "32", "--steps", "2"]
    _, out, err = finish([start(words, root)])[0]
    need("2 workers" in out and "Open MPI" in err, out + err)


def need_hosts(name, count):
    with open(os.path.join(SCRATCH.name, name)) as file:
        text = file.read()
    hosts = re.search(r'"hosts": *"([^"]*)"', text)
    need(hosts and len(hosts.group(1).split(",")) == count, "%s hosts in %s" % (count, text[:2000]))


def stub(name, script):
    path = os.path.join(SCRATCH.name, "bin", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("#!/bin/bash\n" + script)
    os.chmod(path, 0o755)


def check_sbatch():
    need_grpc()
    recipe = os.path.join(RECIPES, "slurm.sbatch")
    with open(recipe) as file:
        asked = dict(re.findall(r"^#SBATCH --([a-z-]+)=(\S+)$", file.read(), re.M))
    nodes, each = int(asked["nodes"]), int(asked["ntasks-per-node"])
    need(nodes == 2, str(asked))
    stub("srun", "pids=()\nexport SLURM_JOB_ID=7 SLURM_STEP_ID=%d "
         "SLURM_STEP_NODELIST='127.0.0.[1-2]'\n"
         "for ((rank = 0; rank < SLURM_NTASKS; ++rank)); do\n"
         "  SLURM_PROCID=$rank SLURM_STEP_NUM_TASKS=$SLURM_NTASKS \"$@\" & pids+=($!)\ndone\n"
         "code=0\nfor pid in \"${pids[@]}\"; do wait \"$pid\" || code=$?; done\nexit $code\n"
         % os.getpid())
    process = start([recipe] + QUICK + ["--json", "slurm.json"], {
        "PATH": os.path.join(SCRATCH.name, "bin") + ":" + os.environ["PATH"],
        "SLURM_PROCID": "0", "SLURM_NTASKS": str(nodes * each),
        "SLURM_NTASKS_PER_NODE": str(each)})
    need("all results correct" in finish([process])[0][1], "no table")
    need_hosts("slurm.json", nodes * each)


def keys(what, value, required, optional=()):
    """A misspelt key is ignored or refused only in the cluster; here it fails."""
    need(isinstance(value, dict), "%s is no mapping" % what)
    need(set(required) <= set(value) <= set(required) | set(optional),
         "%s has the keys %s" % (what, sorted(value)))


CONTAINER = ("command", "args", "env", "ports", "resources", "imagePullPolicy")


def variables_of(container):
    values = {}
    for entry in container.get("env", []):
        if "value" in entry:
            keys("env", entry, ("name", "value"))
            need(isinstance(entry["value"], str), "%s is no string" % entry["name"])
            values[entry["name"]] = entry["value"]
            continue
        source = entry["valueFrom"]
        keys("valueFrom", source, ("secretKeyRef",))
        keys("secretKeyRef", source["secretKeyRef"], ("name", "key"))
        values[entry["name"]] = "a secret of this job"
    return values


def words_of(container):
    words = container.get("command", []) + container.get("args", [])
    need(all(isinstance(word, str) for word in words), "a word is no string: %s" % words)
    return words


def pod(template, names=("collbench",)):
    """The one container of a pod template."""
    keys("template", template, ("spec",))
    keys("pod", template["spec"], ("containers",), ("subdomain", "restartPolicy"))
    (container,) = template["spec"]["containers"]
    keys("container", container, ("name", "image"), CONTAINER)
    need(container["name"] in names, "the container's name decides: %s" % names)
    return container


def run_ranks(recipe, ranks):
    """`ranks`: (words, variables) of each, every host of theirs standing for this machine."""
    port = free_ports(len(ranks))[0]
    addresses = {}

    def here(text):
        for address in re.findall(r"[a-z][a-z0-9.-]*:\d+", text):
            addresses.setdefault(address, "127.0.0.1:%d" % (port + len(addresses)))
        return re.sub(r"[a-z][a-z0-9.-]*:\d+", lambda hit: addresses[hit.group(0)], text)

    processes = []
    for words, variables, *pod_words in ranks:
        prefix = pod_words[0] if pod_words else []
        if prefix and subprocess.run(prefix[:2] + ["true"], capture_output=True).returncode != 0:
            print(recipe, "was not run: namespaces are not permitted here")
            return
        local = {name: here(value) if name in ("COLLBENCH_HOSTS", "TF_CONFIG") else value
                 for name, value in variables.items()}
        if "COLLBENCH_BIND" in local:
            local["COLLBENCH_BIND"] = "127.0.0.1"
        quick = ["-e", "64K", "-T", "20"] if words[0] == "run" else ["--steps", "2"]
        processes.append(start(prefix + [COLLBENCH] + words + quick, local))
    results = finish(processes)
    sign = "all results correct" if ranks[0][0][0] == "run" else "%d workers" % len(ranks)
    need(sign in results[0][1], "%s: %s" % (recipe, results))
    print(recipe, "ran with", len(ranks), "ranks")


def indexed_job(documents):
    service, job = documents
    keys("Service", service, ("apiVersion", "kind", "metadata", "spec"))
    need(service["spec"]["clusterIP"] == "None", "the service must be headless")
    keys("Job", job, ("apiVersion", "kind", "metadata", "spec"))
    need((job["apiVersion"], job["kind"]) == ("batch/v1", "Job"), "a Job")
    spec = job["spec"]
    keys("spec", spec, ("completionMode", "completions", "parallelism", "template"),
         ("backoffLimit",))
    need(spec["completionMode"] == "Indexed" and spec["completions"] == spec["parallelism"],
         "all pods run at once, each with an index")
    need(service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}, "the selector")
    container = pod(spec["template"])
    subdomain = spec["template"]["spec"]["subdomain"]
    need(subdomain == service["metadata"]["name"], "the pods' names come from the service")
    need(container["ports"][0]["containerPort"] == 7101, "where pods listen")
    words = words_of(container)
    need(words[words.index("-W") + 1] == str(spec["completions"]), "as many ranks as pods")
    names = ["%s-%d" % (job["metadata"]["name"], rank) for rank in range(spec["completions"])]
    return [(words, {**variables_of(container), "JOB_COMPLETION_INDEX": str(rank)},
             in_pod(names, rank, subdomain)) for rank in range(len(names))]


def in_pod(names, rank, subdomain):
    """What makes a process a pod: a host name, and a file of hosts as the kubelet writes it."""
    lines = ["127.0.0.1 localhost"] + ["127.0.0.%d %s.%s%s" % (
        2 + i, name, subdomain, " " + name if i == rank else "") for i, name in enumerate(names)]
    path = os.path.join(SCRATCH.name, "hosts-%d" % rank)
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return ["unshare", "-Urum", "sh", "-c", "mount --bind %s /etc/hosts && hostname %s && "
            "exec \"$@\"" % (path, names[rank]), "sh"]


def tf_job(documents):
    (job,) = documents
    need((job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "TFJob"), "a TFJob")
    keys("spec", job["spec"], ("tfReplicaSpecs",), ("runPolicy",))
    keys("replicas", job["spec"]["tfReplicaSpecs"], ("Worker",))
    worker = job["spec"]["tfReplicaSpecs"]["Worker"]
    keys("Worker", worker, ("replicas", "template"), ("restartPolicy",))
    container = pod(worker["template"], ("tensorflow",))
    port = {entry["name"]: entry["containerPort"] for entry in container["ports"]}["tfjob-port"]
    name = job["metadata"]["name"]
    cluster = {"worker": ["%s-worker-%d.default.svc:%d" % (name, rank, port)
                          for rank in range(worker["replicas"])]}
    return [(words_of(container),
             {**variables_of(container),
              "TF_CONFIG": json.dumps({"cluster": cluster, "environment": "cloud",
                                       "task": {"type": "worker", "index": rank}})})
            for rank in range(worker["replicas"])]


def mpi_job(documents):
    (job,) = documents
    need((job["apiVersion"], job["kind"]) == ("kubeflow.org/v2beta1", "MPIJob"), "an MPIJob")
    spec = job["spec"]
    keys("spec", spec, ("mpiReplicaSpecs",), ("slotsPerWorker", "runPolicy", "sshAuthMountPath"))
    keys("replicas", spec["mpiReplicaSpecs"], ("Launcher", "Worker"))
    launcher, worker = spec["mpiReplicaSpecs"]["Launcher"], spec["mpiReplicaSpecs"]["Worker"]
    container = pod(launcher["template"], ("launcher",))
    need(words_of(pod(worker["template"], ("worker",)))[0] == "/usr/sbin/sshd", "workers run sshd")
    words, variables = words_of(container), variables_of(container)
    need(words[0] == "mpirun", "the launcher runs mpirun")
    size = int(words[words.index("-np") + 1])
    need(size == worker["replicas"] * spec["slotsPerWorker"], "as many ranks as slots")
    exported = [words[i + 1] for i, word in enumerate(words) if word == "-x"]
    need(sorted(exported) == sorted(variables), "mpirun passes on %s of %s" % (exported, variables))
    name = job["metadata"]["name"]
    need(variables["MASTER_ADDR"] == "%s-worker-0.%s" % (name, name), "rank 0 is in worker 0")
    variables.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_ports(2)[0]))
    return [(words[words.index("collbench") + 1:],
             {**variables, "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size)})
            for rank in range(size)]


def compose(documents):
    (file,) = documents
    ranks = []
    for name, service in sorted(file["services"].items()):
        keys(name, service, ("image", "command", "environment"))
        variables = dict(service["environment"])
        need(all(isinstance(value, str) for value in variables.values()), "%s: strings" % name)
        need(variables["COLLBENCH_JOB_TOKEN"].startswith("${COLLBENCH_JOB_TOKEN:?"), "the secret")
        need("rank" + variables["COLLBENCH_RANK"] == name, "%s has another rank" % name)
        variables["COLLBENCH_JOB_TOKEN"] = "a secret of this job"
        hosts = [host.split(":")[0] for host in variables["COLLBENCH_HOSTS"].split(",")]
        need(hosts == sorted(file["services"]), "the hosts are the services: %s" % hosts)
        ranks.append((service["command"], variables))
    return ranks


def check_manifests():
    try:
        import yaml
    except ImportError:
        skip("python3-yaml is not installed")
    need_grpc()
    for name, ranks_of in (("indexed-job.yaml", indexed_job), ("tfjob.yaml", tf_job),
                           ("mpijob.yaml", mpi_job), ("compose.yaml", compose)):
        with open(os.path.join(RECIPES, name)) as file:
            run_ranks(name, ranks_of(list(yaml.safe_load_all(file))))


def check_dockerfile():
    with open(os.path.join(RECIPES, "Dockerfile")) as file:
        text = file.read().replace("\\\n", " ")
    stages = re.findall(r"^FROM (\S+) AS (\S+)$", text, re.M)
    need(stages == [("debian:12", "build"), ("build", "run"), ("run", "mpi")], str(stages))
    need("RUN ./collbench " in text and os.access(os.path.join(ROOT, "collbench"), os.X_OK),
         "it builds with the launcher")
    with open(os.path.join(ROOT, "collbench")) as file:
        need("build/release/cli/collbench" in file.read(), "the launcher builds elsewhere")
    need("/collbench/build/release/cli/collbench /usr/local/bin/collbench" in text, "the link")
    used = set()
    for name in os.listdir(RECIPES):
        with open(os.path.join(RECIPES, name)) as file:
            used |= set(re.findall(r"--target (\w+)", file.read()))
    need(used == {"run", "mpi"}, "stages used: %s" % used)


{"page": check_page, "mpirun": check_mpirun, "sbatch": check_sbatch,
 "manifests": check_manifests, "dockerfile": check_dockerfile}[CHECK]()
print("all as expected")
